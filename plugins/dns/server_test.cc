#include "server.h"

#include <gtest/gtest.h>

#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/ip/udp.hpp>
#include <boost/asio/read.hpp>
#include <boost/asio/write.hpp>

namespace drover::dns {
namespace {

namespace asio = boost::asio;
using Tcp = asio::ip::tcp;
using Udp = asio::ip::udp;

Subnet net(const char* text) { return *parse_subnet(text); }

// Answers with the transport and the question; a question "quiet" not at all.
void echo(std::string_view question, Transport transport, const Resolver::Done& done) {
  if (question == "quiet") return done({});
  done((transport == Transport::udp ? "udp " : "tcp ") + std::string(question));
}

uint16_t port_of(const Server& server) {
  const std::string address = server.addresses().front();
  return static_cast<uint16_t>(std::stoi(address.substr(address.rfind(':') + 1)));
}

class ServerTest : public ::testing::Test {
 protected:
  void start(ServerOptions options) {
    server_ = std::make_unique<Server>(std::move(options), metrics_);
    ASSERT_TRUE(server_->start(echo).ok());
  }
  Tcp::socket connect() {
    Tcp::socket socket(io_);
    socket.connect(Tcp::endpoint(asio::ip::make_address("127.0.0.1"), port_of(*server_)));
    return socket;
  }
  std::string over_udp(const char* ip, const std::string& question) {
    Udp::socket socket(io_, Udp::endpoint(asio::ip::make_address(ip), 0));
    socket.connect(Udp::endpoint(asio::ip::make_address(ip), port_of(*server_)));
    socket.send(asio::buffer(question));
    char buffer[512];
    return {buffer, socket.receive(asio::buffer(buffer))};
  }
  static void send(Tcp::socket& socket, const std::string& question) {
    std::string bytes{static_cast<char>(question.size() >> 8), static_cast<char>(question.size())};
    asio::write(socket, asio::buffer(bytes + question));
  }
  // Empty: the server has ended the connection.
  static std::string receive(Tcp::socket& socket) {
    boost::system::error_code error;
    uint8_t length[2];
    asio::read(socket, asio::buffer(length), error);
    if (error) return {};
    std::string answer(static_cast<size_t>(length[0] << 8 | length[1]), '\0');
    asio::read(socket, asio::buffer(answer), error);
    return error ? "" : answer;
  }
  double dropped(const char* why) {
    for (const auto& value : metrics_.values()) {
      if (value.name == "nomad.dns.dropped" && value.labels.front().second == why) return value.value;
    }
    return 0;
  }

  asio::io_context io_;
  Metrics metrics_;
  std::unique_ptr<Server> server_;
};

TEST_F(ServerTest, AnswersDatagramsAndConnections) {
  start({.addresses = {"127.0.0.1:0"}, .clients = {net("127.0.0.0/8")}});
  EXPECT_EQ(over_udp("127.0.0.1", "one"), "udp one");
  Tcp::socket socket = connect();
  for (const char* question : {"one", "two"}) {
    send(socket, question);
    EXPECT_EQ(receive(socket), std::string("tcp ") + question);
  }
  send(socket, "three");
  send(socket, "four");
  EXPECT_EQ(receive(socket), "tcp three");
  EXPECT_EQ(receive(socket), "tcp four");
  send(socket, "quiet");
  EXPECT_EQ(receive(socket), "");
  Tcp::socket rude = connect();
  send(rude, "");
  EXPECT_EQ(receive(rude), "");
  Tcp::socket loud = connect();
  send(loud, std::string(5000, 'x'));
  EXPECT_EQ(receive(loud), "");
}

TEST_F(ServerTest, EndsConnectionsThatSayNothing) {
  start({.addresses = {"127.0.0.1:0"},
         .clients = {net("127.0.0.0/8")},
         .idle = std::chrono::milliseconds(50)});
  Tcp::socket silent = connect(), slow = connect();
  asio::write(slow, asio::buffer("\0\x05on", 4));
  EXPECT_EQ(receive(silent), "");
  EXPECT_EQ(receive(slow), "");
}

TEST_F(ServerTest, HoldsOnlySoManyConnections) {
  start({.addresses = {"127.0.0.1:0"}, .clients = {net("127.0.0.0/8")}, .max_connections = 2});
  Tcp::socket one = connect(), two = connect();
  send(one, "one");
  EXPECT_EQ(receive(one), "tcp one");
  send(two, "two");
  EXPECT_EQ(receive(two), "tcp two");
  Tcp::socket three = connect();
  EXPECT_EQ(receive(three), "");
  EXPECT_EQ(dropped("connections"), 1);
}

TEST_F(ServerTest, HearsOnlyThoseWhoMayAsk) {
  start({.addresses = {"127.0.0.1:0", "127.0.0.2:0"}, .clients = {net("127.0.0.9/32")}});
  Tcp::socket socket = connect();
  EXPECT_EQ(receive(socket), "");
  Udp::socket datagrams(io_, Udp::endpoint(asio::ip::make_address("127.0.0.1"), 0));
  const Udp::endpoint to(asio::ip::make_address("127.0.0.1"), port_of(*server_));
  datagrams.send_to(asio::buffer("one", 3), to);
  Udp::socket allowed(io_, Udp::endpoint(asio::ip::make_address("127.0.0.9"), 0));
  allowed.send_to(asio::buffer("two", 3), to);
  char buffer[64];
  EXPECT_EQ(std::string(buffer, allowed.receive(asio::buffer(buffer))), "udp two");
  EXPECT_EQ(dropped("client"), 2);  // the first datagram came before
  EXPECT_EQ(datagrams.available(), 0U);
}

TEST_F(ServerTest, SaysWhereItCannotListen) {
  start({.addresses = {"127.0.0.1:0"}, .clients = {}});
  const std::string taken = server_->addresses().front();
  const struct {
    std::string address;
    Code code;
    const char* text;
  } cases[] = {
      {taken, Code::already_exists, "another program listens there (TCP)"},
      {"127.0.0.1", Code::invalid_argument, "is not of the form IP:port"},
      {"localhost:53", Code::invalid_argument, "is not of the form IP:port"},
      {"127.0.0.1:", Code::invalid_argument, "is not of the form IP:port"},
      {"127.0.0.1:70000", Code::invalid_argument, "is not of the form IP:port"},
      {"::1:53", Code::invalid_argument, "is not of the form IP:port"},
      {"0.0.0.0:53", Code::invalid_argument, "is no single address"},
      {"[::]:53", Code::invalid_argument, "is no single address"},
  };
  for (const auto& c : cases) {
    Server other({.addresses = {c.address}, .clients = {}}, metrics_);
    const Status status = other.start(echo);
    EXPECT_EQ(status.code(), c.code) << c.address;
    EXPECT_NE(status.message().find(c.text), std::string::npos) << status.message();
    EXPECT_NE(status.message().find("DNS on " + c.address), std::string::npos) << status.message();
  }
}

TEST_F(ServerTest, ItsLoopOutlivesItForAMoment) {
  start({.addresses = {"127.0.0.1:0"}, .clients = {net("127.0.0.0/8")}});
  Tcp::socket socket = connect();
  send(socket, "one");
  EXPECT_EQ(receive(socket), "tcp one");
  std::shared_ptr<Loop> loop = server_->loop();
  server_.reset();
  loop->post([] { FAIL() << "runs after the end"; });
  loop.reset();
  EXPECT_EQ(receive(socket), "");
}

}  // namespace
}  // namespace drover::dns
