// The client, against servers that really listen: over TCP, TLS, a Unix socket and through a proxy.
#include <gtest/gtest.h>

#include <array>
#include <boost/asio/generic/stream_protocol.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/local/stream_protocol.hpp>
#include <boost/asio/ssl.hpp>
#include <boost/beast/core.hpp>
#include <boost/beast/http.hpp>
#include <boost/beast/ssl.hpp>
#include <boost/beast/websocket.hpp>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <limits>
#include <mutex>
#include <nlohmann/json.hpp>
#include <optional>
#include <thread>
#include <vector>

#include "client/client.h"
#include "client/exec_client.h"
#include "drover/api/evaluations.pb.h"
#include "drover/api/snapshots.pb.h"
#include "drover/api/system.pb.h"
#include "drover/base64.h"

namespace drover::cli {
namespace {

namespace asio = boost::asio;
namespace beast = boost::beast;
namespace http = beast::http;
namespace websocket = beast::websocket;
using Error = boost::system::error_code;
using nlohmann::json;
using Socket = asio::generic::stream_protocol::socket;

constexpr size_t kLargeOutput = 1'000'000;
constexpr char kTlsHandshake = 0x16;

// A folder with two authorities, and certificates of the first: the agent's by address and by name, and a client's.
class Certificates {
 public:
  Certificates() {
    std::string name = ::testing::TempDir() + "/drover-https-XXXXXX";
    folder_ = ::mkdtemp(name.data());
    authority("ca");
    authority("other");
    issue("by-address", "IP:127.0.0.1,IP:0.0.0.0,DNS:agent.example");
    issue("by-name", "DNS:server.global.nomad");
    issue("client", "DNS:client.global.nomad");
    std::filesystem::create_directory(folder_ + "/folder");
    std::filesystem::copy(file("other.pem"), folder_ + "/folder/any-name.crt");
    std::filesystem::copy(file("ca.pem"), folder_ + "/folder/the-right-one.crt");
    std::ofstream(file("not.pem")) << "no certificate\n";
  }
  ~Certificates() { std::filesystem::remove_all(folder_); }
  Certificates(const Certificates&) = delete;
  Certificates& operator=(const Certificates&) = delete;
  std::string file(const std::string& name) const { return folder_ + "/" + name; }

 private:
  void make(const std::string& name, const std::string& further) const {
    const std::string command =
        "openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -days 2 -subj /CN=" + name + " -keyout " +
        file(name + ".key") + " -out " + file(name + ".pem") + " " + further + " 2> " + file("openssl.log");
    EXPECT_EQ(std::system(command.c_str()), 0) << std::ifstream(file("openssl.log")).rdbuf();
  }
  void authority(const std::string& name) const { make(name, ""); }
  void issue(const std::string& name, const std::string& names) const {
    make(name, "-CA " + file("ca.pem") + " -CAkey " + file("ca.key") + " -addext basicConstraints=critical,CA:FALSE" +
                   " -addext subjectAltName=" + names);
  }
  std::string folder_;
};

// Until the client has closed: bytes that nobody reads would take the answer with them.
template <typename Stream>
void drain(Stream& stream) {
  std::array<char, 65536> bytes{};
  for (Error error; !error;) stream.read_some(asio::buffer(bytes), error);
}

struct Request {
  std::string line;  // "GET /v1/jobs"
  std::string token, authorization, body;
  int connection;  // counted from 1
};

// Answers, and notes what was asked. Each client is destroyed before it.
class Server {
 public:
  // `certificate`: the name of the pair of files; empty for plain HTTP. `authority`: of certificates that a client must
  // show; empty for none.
  Server(const asio::generic::stream_protocol::endpoint& place, const std::string& certificate = {},
         const std::string& authority = {})
      : acceptor_(io_, place) {
    if (!certificate.empty()) {
      tls_.emplace(asio::ssl::context::tls_server);
      tls_->use_certificate_chain_file(certificate + ".pem");
      tls_->use_private_key_file(certificate + ".key", asio::ssl::context::pem);
      if (!authority.empty()) {
        tls_->load_verify_file(authority);
        tls_->set_verify_mode(asio::ssl::verify_peer | asio::ssl::verify_fail_if_no_peer_cert);
      }
    }
    accept();
    thread_ = std::jthread([this] { io_.run(); });
  }
  explicit Server(const std::string& certificate = {}, const std::string& authority = {})
      : Server(asio::ip::tcp::endpoint(asio::ip::address_v4::loopback(), 0), certificate, authority) {}
  ~Server() {
    io_.stop();
    thread_.join();
  }
  Server(const Server&) = delete;
  Server& operator=(const Server&) = delete;

  int port() const {
    asio::ip::tcp::endpoint here;
    const auto place = acceptor_.local_endpoint();
    std::memcpy(here.data(), place.data(), place.size());
    return here.port();
  }
  std::string address(const std::string& scheme, const std::string& host = "127.0.0.1") const {
    return scheme + "://" + host + ":" + std::to_string(port());
  }
  std::vector<Request> requests() {
    std::lock_guard lock(mutex_);
    return requests_;
  }

 private:
  void accept() {
    acceptor_.async_accept([this](Error error, Socket socket) {
      if (error) return;
      const int number = static_cast<int>(connections_.size()) + 1;
      connections_.emplace_back([this, number, socket = std::move(socket)]() mutable { secure(socket, number); });
      accept();
    });
  }
  void secure(Socket& socket, int number) {
    Error error;
    char first = 0;  // of a TLS record, or of a request: for a proxy
    socket.receive(asio::buffer(&first, 1), Socket::message_peek, error);
    if (!tls_ || first != kTlsHandshake) return serve(socket, number);
    asio::ssl::stream<Socket&> stream(socket, *tls_);
    stream.handshake(asio::ssl::stream_base::server, error);
    error ? drain(socket) : serve(stream, number);
  }
  static void secure(asio::ssl::stream<Socket&>&, int) {}  // no proxy over TLS

  template <typename Stream>
  void serve(Stream& stream, int number) {
    beast::flat_buffer buffer;
    Error error;
    while (!error) {
      http::request_parser<http::string_body> parser;
      parser.body_limit(std::numeric_limits<uint64_t>::max());
      http::read_header(stream, buffer, parser, error);
      if (error) return;
      auto& request = parser.get();
      const std::string target(request.target());
      // A refusal comes before the body has.
      if (target == "/v1/operator/snapshot" && request["X-Nomad-Token"] == "wrong") return refuse(stream);
      http::read(stream, buffer, parser, error);
      {
        std::lock_guard lock(mutex_);
        requests_.push_back({.line = std::string(request.method_string()) + " " + target,
                             .token = std::string(request["X-Nomad-Token"]),
                             .authorization = std::string(request["Authorization"]),
                             .body = request.body(),
                             .connection = number});
      }
      if (request.method() == http::verb::connect) {
        const std::string_view yes = "HTTP/1.1 200 Connected\r\n\r\n";
        asio::write(stream, asio::buffer(yes), error);
        return secure(stream, number);
      }
      if (websocket::is_upgrade(request)) return run_command(stream, request);
      if (target.starts_with("/v1/agent/monitor")) return tell_without_end(stream);
      http::response<http::string_body> answer(http::status::ok, 11);
      answer.set("X-Nomad-NextToken", "next page");
      answer.set("Digest", "sha-256=abc");
      answer.body() = target.starts_with("/v1/broken") ? "no JSON" : "{\"Fine\":true}";
      if (target.starts_with("/v1/evaluations")) answer.body() = "[]";
      if (target.starts_with("/v1/forbidden")) {
        answer.result(http::status::forbidden);
        answer.body() = "Permission denied\n";
      }
      answer.prepare_payload();
      if (request.method() == http::verb::head) answer.body().clear();
      http::write(stream, answer, error);
    }
  }
  template <typename Stream>
  static void refuse(Stream& stream) {
    const std::string_view no = "HTTP/1.1 403 Forbidden\r\nConnection: close\r\nContent-Length: 2\r\n\r\nno";
    Error error;
    asio::write(stream, asio::buffer(no), error);
    drain(stream);
  }
  // A first piece, and more only when the client has gone.
  template <typename Stream>
  static void tell_without_end(Stream& stream) {
    const std::string_view text = "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nfirst\r\n";
    Error error;
    asio::write(stream, asio::buffer(text), error);
    drain(stream);
  }
  template <typename Stream>
  void run_command(Stream& stream, const http::request<http::string_body>& request) {
    websocket::stream<Stream&> socket(stream);
    Error error;
    socket.accept(request, error);
    beast::flat_buffer frame;
    while (!error) {
      frame.clear();
      socket.read(frame, error);
      if (beast::buffers_to_string(frame.data()) == R"({"stdin":{"close":true}})") break;
    }
    const auto tell = [&](const json& answer) { socket.write(asio::buffer(answer.dump()), error); };
    tell({{"stdout", {{"data", base64_encode(std::string(kLargeOutput, 'x'))}}}});
    tell({{"exited", true}, {"result", {{"exit_code", 7}}}});
    socket.read(frame, error);  // until the client has gone
  }

  asio::io_context io_;
  asio::basic_socket_acceptor<asio::generic::stream_protocol> acceptor_;
  std::optional<asio::ssl::context> tls_;
  std::mutex mutex_;
  std::vector<Request> requests_;          // guarded by mutex_
  std::vector<std::jthread> connections_;  // each ends with its client
  std::jthread thread_;
};

class Https : public ::testing::Test {
 protected:
  static void SetUpTestSuite() { certificates_ = std::make_unique<Certificates>(); }
  static void TearDownTestSuite() { certificates_.reset(); }
  static std::string file(const std::string& name) { return certificates_->file(name); }

  // The answer to a question, or the words of what went wrong.
  static std::string ask(const ClientOptions& options, const std::string& path = "/v1/thing") {
    Client client(options);
    const auto answer = client.send({.verb = "GET", .path = path, .parameters = {}, .body = ""});
    return answer ? answer->dump() : answer.status().to_string();
  }
  static void expect_failure(const ClientOptions& options, std::initializer_list<std::string> parts) {
    const std::string words = ask(options);
    for (const std::string& part : parts) EXPECT_NE(words.find(part), std::string::npos) << part << " in: " << words;
  }
  // The exit code of a command in a task, the whole output of which has arrived.
  static std::string run_command(const ClientOptions& options) {
    ::testing::internal::CaptureStdout();
    const Client client(options);
    const auto code = run_exec(client, {.path = "/v1/client/allocation/a/exec", .takes_input = false, .escape = {}});
    const std::string output = ::testing::internal::GetCapturedStdout();
    if (!code) return code.status().to_string();
    return std::to_string(*code) + (output == std::string(kLargeOutput, 'x') ? " and all" : " and not all");
  }
  static constexpr const char* kFine = "{\"Fine\":true}";

 private:
  static inline std::unique_ptr<Certificates> certificates_;
};

asio::generic::stream_protocol::endpoint every_address() {
  return asio::ip::tcp::endpoint(asio::ip::address_v4::any(), 0);
}

TEST_F(Https, IsTrustedByItsAuthority) {
  Server server(file("by-address"));
  const std::string address = server.address("https");
  EXPECT_EQ(ask({.address = address, .tls = {.ca_cert = file("ca.pem")}}), kFine);
  EXPECT_EQ(ask({.address = address, .tls = {.ca_path = file("folder")}}), kFine);
  EXPECT_EQ(run_command({.address = address, .tls = {.ca_cert = file("ca.pem")}}), "7 and all");
}

TEST_F(Https, IsNotTrustedByAnother) {
  Server server(file("by-address"));
  const std::string address = server.address("https");
  expect_failure({.address = address, .tls = {.ca_cert = file("other.pem")}},
                 {"failed_precondition: the certificate of the agent at " + address + " is not good by " +
                      file("other.pem") + ": ",
                  "; set -ca-cert or NOMAD_CACERT to the file of the authority that signed it"});
  expect_failure({.address = address}, {" is not good by this machine's authorities: "});
  EXPECT_NE(run_command({.address = address, .tls = {.ca_cert = file("other.pem")}}).find("is not good by"),
            std::string::npos);
  EXPECT_EQ(server.requests().size(), 0u);
}

TEST_F(Https, IsNotTrustedUnderAnotherName) {
  Server server(file("by-name"));
  const std::string address = server.address("https");
  expect_failure({.address = address, .tls = {.ca_cert = file("ca.pem")}},
                 {"failed_precondition: the certificate of the agent at " + address + " is for another name: ",
                  "; set -tls-server-name or NOMAD_TLS_SERVER_NAME to the name that it is for"});
  EXPECT_EQ(server.requests().size(), 0u);

  const ClientOptions named = {.address = address,
                               .tls = {.ca_cert = file("ca.pem"), .server_name = "server.global.nomad"}};
  EXPECT_EQ(ask(named), kFine);
  EXPECT_EQ(run_command(named), "7 and all");
}

TEST_F(Https, IsTrustedBlindlyOnDemand) {
  Server server(file("by-name"));
  const ClientOptions blind = {.address = server.address("https"), .tls = {.skip_verify = true}};
  EXPECT_EQ(ask(blind), kFine);
  EXPECT_EQ(run_command(blind), "7 and all");
}

TEST_F(Https, ShowsTheClientsCertificate) {
  Server server(file("by-address"), file("ca.pem"));
  const std::string address = server.address("https");
  const ClientOptions shown = {
      .address = address,
      .tls = {.ca_cert = file("ca.pem"), .client_cert = file("client.pem"), .client_key = file("client.key")}};
  EXPECT_EQ(ask(shown), kFine);
  EXPECT_EQ(run_command(shown), "7 and all");

  const ClientOptions none = {.address = address, .tls = {.ca_cert = file("ca.pem")}};
  expect_failure(none, {"unavailable: no TLS connection with the agent at " + address + ": ",
                        "it wants to see a certificate: set -client-cert and -client-key"});
  EXPECT_NE(run_command(none).find("it wants to see a certificate"), std::string::npos);

  ClientOptions stranger = shown;
  stranger.tls.client_cert = file("other.pem");
  stranger.tls.client_key = file("other.key");
  expect_failure(stranger, {"unavailable: no TLS connection with the agent at " + address + ": ",
                            "it does not accept the certificate " + file("other.pem")});

  ClientOptions wrong = shown;
  wrong.tls.client_key = file("ca.key");
  expect_failure(wrong, {"invalid_argument: the certificate " + file("client.pem") + " with the key " + file("ca.key") +
                         " cannot be used: "});
}

// A server that calls a certificate bad which it did not get; those made with OpenSSL have a better word.
TEST_F(Https, ABadCertificateWhereNoneWasShownIsOneThatIsWanted) {
  asio::io_context io;
  asio::ip::tcp::acceptor acceptor(io, asio::ip::tcp::endpoint(asio::ip::address_v4::loopback(), 0));
  const std::string address = "https://127.0.0.1:" + std::to_string(acceptor.local_endpoint().port());
  const std::jthread server([&acceptor] {
    Error error;
    auto socket = acceptor.accept(error);
    std::array<char, 4096> hello{};
    socket.read_some(asio::buffer(hello), error);
    asio::write(socket, asio::buffer(std::array<uint8_t, 7>{0x15, 3, 3, 0, 2, 2, 42}), error);
    drain(socket);
  });
  expect_failure({.address = address},
                 {"unavailable: no TLS connection with the agent at " + address + ": ",
                  "bad certificate; it wants to see a certificate: set -client-cert and -client-key"});
}

TEST_F(Https, NamesFilesThatCannotBeUsed) {
  Server server(file("by-address"));
  const std::string address = server.address("https");
  expect_failure({.address = address, .tls = {.ca_cert = file("none.pem")}},
                 {"invalid_argument: " + file("none.pem") + " of -ca-cert (NOMAD_CACERT) cannot be read or is empty"});
  expect_failure({.address = address, .tls = {.ca_cert = file("folder")}},
                 {"invalid_argument: " + file("folder") + " of -ca-cert (NOMAD_CACERT) cannot be read or is empty"});
  expect_failure({.address = address, .tls = {.ca_cert = file("not.pem")}},
                 {"invalid_argument: no certificate can be read from " + file("not.pem")});
  expect_failure({.address = address, .tls = {.ca_path = file("nowhere")}},
                 {"invalid_argument: " + file("nowhere") + " of -ca-path (NOMAD_CAPATH) cannot be read: "});
}

TEST_F(Https, IsNotSpokenByAPlainServer) {
  Server server;
  expect_failure({.address = server.address("https")}, {"unavailable: no TLS connection with", "does it speak https?"});
}

TEST_F(Https, CredentialsAreSent) {
  Server server;
  const ClientOptions options = {.address = server.address("http"), .token = "secret", .http_auth = "me:mine"};
  EXPECT_EQ(ask(options), kFine);
  EXPECT_EQ(run_command(options), "7 and all");
  const auto requests = server.requests();
  ASSERT_EQ(requests.size(), 2u);
  for (const Request& request : requests) {
    EXPECT_EQ(request.token, "secret") << request.line;
    EXPECT_EQ(request.authorization, "Basic bWU6bWluZQ==") << request.line;
  }
}

TEST_F(Https, AUnixSocketServesAsWell) {
  const std::string path = file("agent.sock");
  Server server{asio::local::stream_protocol::endpoint(path)};
  const ClientOptions options = {.address = "unix://" + path, .proxies = {.http = "http://127.0.0.1:9"}};
  EXPECT_EQ(ask(options), kFine);
  EXPECT_EQ(ask({.address = "unix:" + path}), kFine) << "as tasks find it in their environment";
  EXPECT_EQ(run_command(options), "7 and all");
  expect_failure({.address = "unix://" + file("nothing.sock")},
                 {"unavailable: cannot reach the agent at unix://",
                  "nothing.sock: ", "; is it running? Set -address or NOMAD_ADDR to where it is"});
}

TEST_F(Https, NobodyAtTheAddress) {
  expect_failure({.address = "http://127.0.0.1:9"},
                 {"unavailable: cannot reach the agent at http://127.0.0.1:9: Connection refused; is it running? Set "
                  "-address or NOMAD_ADDR to where it is"});
  EXPECT_NE(run_command({.address = "http://127.0.0.1:9"}).find("cannot reach the agent"), std::string::npos);
}

TEST_F(Https, AddressesThatAreNone) {
  expect_failure({.address = "http://"}, {"invalid_argument: address \"http://\" cannot be read: "});
  expect_failure({.address = "ftp://host"}, {"begins with neither http://, https:// nor unix://"});
  expect_failure({.address = "unix://"}, {"invalid_argument: address \"unix://\" names no socket"});
  expect_failure({.address = "http://me:mine@host"}, {"put user:password into NOMAD_HTTP_AUTH"});
  expect_failure({.address = "http://host:1/ui"}, {"holds a path; it ends with the host and its port"});
  Server server;
  EXPECT_EQ(ask({.address = server.address("http") + "/"}), kFine);
  EXPECT_EQ(ask({.address = "127.0.0.1:" + std::to_string(server.port())}), kFine);
}

TEST_F(Https, AProxyIsAsked) {
  Server proxy;
  const ClientOptions plain = {.address = "http://agent.example:4646", .proxies = {.http = proxy.address("http")}};
  EXPECT_EQ(ask(plain), kFine);
  EXPECT_EQ(run_command(plain), "7 and all");
  const auto requests = proxy.requests();
  ASSERT_EQ(requests.size(), 3u);
  EXPECT_EQ(requests[0].line, "GET http://agent.example:4646/v1/thing");
  EXPECT_EQ(requests[1].line, "CONNECT agent.example:4646");
  EXPECT_EQ(requests[2].line, "GET /v1/client/allocation/a/exec");
}

TEST_F(Https, AProxyIsAskedForATunnelWhereThereIsTls) {
  Server proxy(file("by-address"));  // and the agent behind it
  const ClientOptions options = {.address = "https://agent.example:4646",
                                 .tls = {.ca_cert = file("ca.pem")},
                                 .proxies = {.https = proxy.address("http")}};
  EXPECT_EQ(ask(options), kFine);
  EXPECT_EQ(run_command(options), "7 and all");
  const auto requests = proxy.requests();
  ASSERT_EQ(requests.size(), 4u);
  EXPECT_EQ(requests[0].line, "CONNECT agent.example:4646");
  EXPECT_EQ(requests[1].line, "GET /v1/thing");
  EXPECT_EQ(requests[2].line, "CONNECT agent.example:4646");
  EXPECT_EQ(requests[3].line, "GET /v1/client/allocation/a/exec");
}

TEST_F(Https, AProxyIsNotAskedForThisMachineAndWhereItIsNotWanted) {
  Server server(every_address());
  const Proxies dead = {.http = "http://127.0.0.1:9", .none_for = "0.0.0.0"};
  EXPECT_EQ(ask({.address = server.address("http"), .proxies = dead}), kFine);
  EXPECT_EQ(ask({.address = server.address("http", "localhost"), .proxies = dead}), kFine);
  EXPECT_EQ(ask({.address = server.address("http", "0.0.0.0"), .proxies = dead}), kFine);
  expect_failure({.address = server.address("http", "0.0.0.0"), .proxies = {.http = "http://127.0.0.1:9"}},
                 {"Connection refused (HTTP_PROXY is set); is it running?"});
}

TEST_F(Https, AnswersAreHandedOn) {
  Server server;
  Client client({.address = server.address("http"), .region = "eu", .name_space = "a b"});
  const auto ask = [&](const std::string& path) {
    return client.send({.verb = "GET", .path = path, .parameters = {}, .body = ""}).status().to_string();
  };
  EXPECT_EQ(ask("/v1/thing"), "ok");
  EXPECT_EQ(ask("/v1/forbidden"), "permission_denied: Permission denied");
  EXPECT_NE(ask("/v1/broken").find("it is not JSON"), std::string::npos);
  EXPECT_NE(ask("/v1/a b").find("invalid_argument: this path cannot be asked for: "), std::string::npos);
  EXPECT_EQ(client.send({.verb = "POST", .path = "/v1/thing", .parameters = {}, .body = "{}"}).status().to_string(),
            "ok");
  EXPECT_EQ(client.send({.verb = "DELETE", .path = "/v1/thing", .parameters = {}, .body = ""}).status().to_string(),
            "ok");
  client.set_namespace("own");
  EXPECT_EQ(ask("/v1/thing"), "ok");
  client.set_namespace("");
  EXPECT_EQ(ask("/v1/thing"), "ok");
  EXPECT_EQ(client.options().name_space, "a b");
  const auto requests = server.requests();
  ASSERT_EQ(requests.size(), 7u);
  EXPECT_EQ(requests[0].line, "GET /v1/thing?region=eu&namespace=a%20b");
  EXPECT_EQ(requests[5].line, "GET /v1/thing?region=eu&namespace=own");
  EXPECT_EQ(requests[6].line, "GET /v1/thing?region=eu");
  EXPECT_EQ(requests[3].line, "POST /v1/thing?region=eu&namespace=a%20b");
  EXPECT_EQ(requests[3].body, "{}");
  EXPECT_EQ(requests[4].line, "DELETE /v1/thing?region=eu&namespace=a%20b");
  // Reads keep their connection; a change takes one of its own.
  EXPECT_EQ(requests[2].connection, 1);
  EXPECT_EQ(requests[3].connection, 2);
}

TEST_F(Https, HeadersOfAnAnswerAreHandedOn) {
  Server server;
  Client client({.address = server.address("http")});
  const auto list = client.call<v1::Evaluations::List>({});
  ASSERT_TRUE(list.ok()) << list.status().message();
  EXPECT_EQ(list->next_token, "next page");
  std::string digest;
  EXPECT_TRUE(client
                  .stream<v1::OperatorSnapshot::Save>(
                      {}, [](std::string_view) { return true; }, {}, &digest)
                  .ok());
  EXPECT_EQ(digest, "sha-256=abc");
  const auto nothing = client.send({.verb = "HEAD", .path = "/v1/thing", .parameters = {}, .body = ""});
  EXPECT_EQ(nothing.status().to_string(), "ok");
  EXPECT_EQ(server.requests().back().line, "HEAD /v1/thing");
}

TEST_F(Https, PiecesOfAnAnswerArriveBeforeItsEnd) {
  Server server(file("by-address"));
  Client client({.address = server.address("https"), .tls = {.ca_cert = file("ca.pem")}});
  std::string text;
  const Status status = client.stream<v1::AgentInformation::Monitor>({}, [&](std::string_view bytes) {
    text += bytes;
    return text != "first";
  });
  EXPECT_EQ(status.to_string(), "ok");
  EXPECT_EQ(text, "first");
}

// Gives bytes of one kind.
class Bytes final : public ByteSource {
 public:
  explicit Bytes(uint64_t left, Status at_end = ok_status()) : left_(left), at_end_(std::move(at_end)) {}
  Result<size_t> read(std::span<char> buffer) override {
    if (left_ == 0 && !at_end_.ok()) return at_end_;
    const size_t n = std::min<uint64_t>(left_, buffer.size());
    std::fill_n(buffer.begin(), n, 'x');
    left_ -= n;
    return n;
  }
  uint64_t left() const { return left_; }

 private:
  uint64_t left_;
  const Status at_end_;
};

TEST_F(Https, ABodyIsSentAsItIsRead) {
  constexpr uint64_t kSize = 20'000'000;
  Server server(file("by-address"));
  const ClientOptions options = {.address = server.address("https"), .tls = {.ca_cert = file("ca.pem")}};
  {
    Client client(options);
    Bytes body(kSize);
    EXPECT_EQ(client.upload<v1::OperatorSnapshot::Restore>(body, kSize).to_string(), "ok");
    const auto requests = server.requests();
    ASSERT_EQ(requests.size(), 1u);
    EXPECT_EQ(requests[0].line, "PUT /v1/operator/snapshot");
    EXPECT_EQ(requests[0].body.size(), kSize);
  }
  {
    Client client(options);
    Bytes broken(1000, unavailable("the disk has gone"));
    EXPECT_EQ(client.upload<v1::OperatorSnapshot::Restore>(broken, kSize).to_string(),
              "unavailable: the disk has gone");
  }
}

TEST_F(Https, ARefusalIsHeardWhileTheBodyIsStillOnItsWay) {
  constexpr uint64_t kEndless = 1ULL << 40;
  Server server;
  Client client({.address = server.address("http"), .token = "wrong"});
  Bytes body(kEndless);
  EXPECT_EQ(client.upload<v1::OperatorSnapshot::Restore>(body, kEndless).to_string(), "permission_denied: no");
  EXPECT_GT(body.left(), 0u);
}

}  // namespace
}  // namespace drover::cli
