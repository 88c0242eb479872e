// The server over real connections, with a caller that lives in the test.
#include "server.h"

#include <arpa/inet.h>
#include <google/protobuf/descriptor.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <condition_variable>
#include <functional>
#include <mutex>
#include <optional>
#include <thread>

#include "gtest/gtest.h"
#include "http_test.pb.h"

namespace drover::api {
namespace {

using namespace std::chrono_literals;
namespace thing = drover::test::http;
constexpr auto kPatience = 20s;

// Answers "Get" with the identifier it was asked for; "wait" waits for the test or for the caller to go away. A stream
// is kept for the test to speak into.
class FakeCaller final : public Caller {
 public:
  void call(CallContext context, std::string request, std::function<void(Result<Reply>)> done) override {
    thing::ThingRequest asked;
    (void)asked.ParseFromString(request);
    if (asked.id() == "wait") {
      std::lock_guard lock(mutex_);
      held_ = std::move(done);
      on_stop_.emplace(context.stop, [this] {
        std::lock_guard stopped(stop_mutex_);
        is_cancelled_ = true;
        changed_.notify_all();
      });
      changed_.notify_all();
      return;
    }
    if (asked.id() == "missing") return done(not_found("thing not found"));
    thing::ThingReply reply;
    reply.set_id(asked.id() == "big" ? std::string(100000, 'x') : asked.id());
    done(Reply{reply.SerializeAsString(), {.index = 3}});
  }
  Result<Reply> call_and_wait(CallContext, std::string) override { return internal_error("nobody waits here"); }
  Result<std::unique_ptr<StreamCall>> open(CallContext context, std::string request, StreamReceiver receiver) override {
    thing::ThingRequest asked;
    (void)asked.ParseFromString(request);
    if (asked.id() == "missing") return not_found("thing not found");
    std::lock_guard lock(mutex_);
    receiver_ = std::move(receiver);
    on_stop_.emplace(context.stop, [this] {
      std::lock_guard stopped(stop_mutex_);
      is_cancelled_ = true;
      changed_.notify_all();
    });
    changed_.notify_all();
    return std::unique_ptr<StreamCall>(std::make_unique<Handle>());
  }

  bool holds_call() {
    return wait([this] { return static_cast<bool>(held_); });
  }
  void answer(Result<Reply> reply) {
    std::function<void(Result<Reply>)> done;
    {
      std::lock_guard lock(mutex_);
      on_stop_.reset();
      done = std::exchange(held_, nullptr);
    }
    if (done) done(std::move(reply));
  }
  bool is_cancelled() {
    std::unique_lock lock(stop_mutex_);
    return changed_.wait_for(lock, kPatience, [this] { return is_cancelled_; });
  }
  StreamReceiver* stream() {
    return wait([this] { return static_cast<bool>(receiver_.message); }) ? &receiver_ : nullptr;
  }
  void end_stream(Status status) {
    StreamReceiver receiver;
    {
      std::lock_guard lock(mutex_);
      receiver = std::exchange(receiver_, {});
    }
    if (receiver.closed) receiver.closed(std::move(status));
  }

 private:
  class Handle final : public StreamCall {
   public:
    bool send(std::string) override { return true; }
    void close_sending() override {}
    void cancel() override {}
  };
  template <typename Condition>
  bool wait(Condition condition) {
    std::unique_lock lock(mutex_);
    return changed_.wait_for(lock, kPatience, condition);
  }

  std::mutex mutex_;
  std::mutex stop_mutex_;  // the stop callback runs while others hold mutex_
  std::condition_variable_any changed_;
  std::function<void(Result<Reply>)> held_;
  StreamReceiver receiver_;
  bool is_cancelled_ = false;
  std::optional<std::stop_callback<std::function<void()>>> on_stop_;
};

struct Received {
  std::string head;
  std::string body;
  int status() const { return head.size() < 12 ? 0 : std::atoi(head.c_str() + 9); }
  bool has(const std::string& line) const { return head.find(line + "\r\n") != std::string::npos; }
};

// A connection as any client makes one; reads give up after a while.
class Client {
 public:
  explicit Client(const std::string& address) : socket_(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
    timeval patience{.tv_sec = 20, .tv_usec = 0};
    setsockopt(socket_, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof(patience));
    sockaddr_in to{};
    to.sin_family = AF_INET;
    to.sin_port = htons(static_cast<uint16_t>(std::stoi(address.substr(address.rfind(':') + 1))));
    to.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    EXPECT_EQ(connect(socket_, reinterpret_cast<sockaddr*>(&to), sizeof(to)), 0);
  }
  Client(const Client&) = delete;
  ~Client() { hang_up(); }
  void hang_up() {
    if (socket_ >= 0) close(std::exchange(socket_, -1));
  }

  // False once the server has closed the connection.
  bool send(std::string_view text) {
    while (!text.empty()) {
      const ssize_t sent = ::send(socket_, text.data(), text.size(), MSG_NOSIGNAL);
      if (sent <= 0) return false;
      text.remove_prefix(static_cast<size_t>(sent));
    }
    return true;
  }
  Received get(const std::string& path, const std::string& headers = "") {
    send("GET " + path + " HTTP/1.1\r\nHost: test\r\n" + headers + "\r\n");
    return receive();
  }
  // Up to the end of the header.
  std::string receive_head() {
    size_t end = std::string::npos;
    while ((end = buffer_.find("\r\n\r\n")) == std::string::npos) {
      if (!read_more()) return {};
    }
    return take(end + 4);
  }
  std::string receive_chunk() {
    size_t end = std::string::npos;
    while ((end = buffer_.find("\r\n")) == std::string::npos) {
      if (!read_more()) return "closed";
    }
    const size_t size = std::stoul(take(end + 2), nullptr, 16);
    while (buffer_.size() < size + 2) {
      if (!read_more()) return "closed";
    }
    std::string chunk = take(size);
    take(2);
    return chunk;
  }
  Received receive() {
    Received answer{.head = receive_head(), .body = {}};
    if (const size_t at = answer.head.find("Content-Length: "); at != std::string::npos) {
      const size_t size = std::stoul(answer.head.substr(at + 16));
      while (buffer_.size() < size && read_more()) {
      }
      answer.body = take(std::min(size, buffer_.size()));
    } else if (answer.has("Transfer-Encoding: chunked")) {
      for (std::string chunk = receive_chunk(); !chunk.empty(); chunk = receive_chunk()) {
        answer.body += chunk;
        if (chunk == "closed") break;
      }
    }
    return answer;
  }
  // Everything until the server closes the connection; "open" when it does not.
  std::string receive_all() {
    while (read_more()) {
    }
    return is_closed_ ? take(buffer_.size()) : "open";
  }

 private:
  bool read_more() {
    char bytes[4096];
    const ssize_t got = recv(socket_, bytes, sizeof(bytes), 0);
    if (got > 0) buffer_.append(bytes, static_cast<size_t>(got));
    is_closed_ = got == 0;
    return got > 0;
  }
  std::string take(size_t size) {
    std::string text = buffer_.substr(0, size);
    buffer_.erase(0, size);
    return text;
  }

  int socket_;
  std::string buffer_;
  bool is_closed_ = false;
};

class HttpServer : public ::testing::Test {
 protected:
  HttpServer() {
    const auto* service = thing::ThingRequest::descriptor()->file()->service(0);
    for (int i = 0; i < service->method_count(); ++i) EXPECT_TRUE(routes_.add(*service->method(i)).ok());
  }
  ~HttpServer() override {
    caller_.answer(cancelled("the test is over"));
    caller_.end_stream(cancelled("the test is over"));
  }
  std::string start(ServerOptions options = {}) {
    options.addresses = {"127.0.0.1:0"};
    server_ = std::make_unique<Server>(std::move(options), routes_, caller_, metrics_);
    const Status started = server_->start();
    EXPECT_TRUE(started.ok()) << started.to_string();
    return server_->address();
  }

  Routes routes_;
  Metrics metrics_;
  FakeCaller caller_;
  std::unique_ptr<Server> server_;
};

TEST_F(HttpServer, KeepsAConnectionForTheNextRequest) {
  Client client(start());

  for (const char* id : {"one", "two", "three"}) {
    const Received answer = client.get("/v1/test/thing/" + std::string(id));
    EXPECT_EQ(answer.status(), 200);
    EXPECT_EQ(answer.body, R"({"ID":")" + std::string(id) + R"("})");
    EXPECT_TRUE(answer.has("X-Nomad-Index: 3")) << answer.head;
    EXPECT_TRUE(answer.has("Content-Type: application/json")) << answer.head;
    EXPECT_TRUE(answer.has("Vary: Accept-Encoding")) << answer.head;
  }
}

TEST_F(HttpServer, ClosesAConnectionWhenAsked) {
  Client client(start());
  client.send("GET /v1/test/thing/one HTTP/1.1\r\nHost: test\r\nConnection: close\r\n\r\n");

  const std::string all = client.receive_all();

  EXPECT_TRUE(all.starts_with("HTTP/1.1 200 ")) << all;
  EXPECT_TRUE(all.ends_with(R"({"ID":"one"})")) << all;
}

TEST_F(HttpServer, AnswersRequestsThatWereSentTogetherInTheirOrder) {
  Client client(start());
  client.send(
      "GET /v1/test/thing/one HTTP/1.1\r\nHost: test\r\n\r\nGET /v1/test/thing/two HTTP/1.1\r\nHost: test\r\n\r\n");

  EXPECT_EQ(client.receive().body, R"({"ID":"one"})");
  EXPECT_EQ(client.receive().body, R"({"ID":"two"})");
}

TEST_F(HttpServer, AnErrorIsTextAndTheConnectionStays) {
  Client client(start());

  Received answer = client.get("/v1/test/thing/missing");
  EXPECT_EQ(answer.status(), 404);
  EXPECT_EQ(answer.body, "thing not found");
  answer = client.get("/v1/nothing");
  EXPECT_EQ(answer.status(), 404);
  answer = client.get("/v1/test/names?index=x");
  EXPECT_EQ(answer.status(), 400);
  EXPECT_EQ(answer.body, "Invalid index");
  EXPECT_EQ(client.get("/v1/test/thing/one").status(), 200);
}

TEST_F(HttpServer, CompressesForThoseWhoReadIt) {
  Client client(start());

  const Received plain = client.get("/v1/test/thing/big");
  const Received compressed = client.get("/v1/test/thing/big", "Accept-Encoding: gzip\r\n");
  const Received small = client.get("/v1/test/thing/one", "Accept-Encoding: gzip\r\n");

  EXPECT_GT(plain.body.size(), 100000u);
  EXPECT_FALSE(plain.has("Content-Encoding: gzip"));
  EXPECT_TRUE(compressed.has("Content-Encoding: gzip")) << compressed.head;
  EXPECT_LT(compressed.body.size(), 10000u);
  EXPECT_TRUE(compressed.body.starts_with("\x1f\x8b"));
  EXPECT_FALSE(small.has("Content-Encoding: gzip")) << "it would grow";
}

TEST_F(HttpServer, AddsTheConfiguredHeaders) {
  ServerOptions options;
  options.headers = {{"X-House", "mine"}};
  Client client(start(std::move(options)));

  EXPECT_TRUE(client.get("/v1/test/thing/one").has("X-House: mine"));
}

TEST_F(HttpServer, ATooLargeBodyIsRefusedWhileItIsSent) {
  ServerOptions options;
  options.max_body_bytes = 1000;
  Client client(start(std::move(options)));
  client.send("PUT /v1/test/thing/7 HTTP/1.1\r\nHost: test\r\nContent-Length: 300000\r\n\r\n");
  client.send(std::string(300000, ' '));

  const Received answer = client.receive();

  EXPECT_EQ(answer.status(), 413) << answer.head;
  EXPECT_EQ(answer.body, "the request body is larger than 1000 bytes");
}

TEST_F(HttpServer, ATooLargeChunkedBodyIsRefused) {
  ServerOptions options;
  options.max_body_bytes = 1000;
  Client client(start(std::move(options)));
  client.send("PUT /v1/test/thing/7 HTTP/1.1\r\nHost: test\r\nTransfer-Encoding: chunked\r\n\r\n");
  client.send("7d0\r\n" + std::string(2000, ' ') + "\r\n0\r\n\r\n");

  EXPECT_EQ(client.receive().status(), 413);
}

TEST_F(HttpServer, TooLargeAHeaderIsRefused) {
  Client client(start());
  client.send("GET /v1/test/thing/7 HTTP/1.1\r\nX-Long: " + std::string(100000, 'x') + "\r\n\r\n");

  EXPECT_EQ(client.receive().status(), 431);
}

TEST_F(HttpServer, ABodyUpToTheLimitIsTaken) {
  ServerOptions options;
  options.max_body_bytes = 1000;
  Client client(start(std::move(options)));
  client.send("PUT /v1/test/thing/7 HTTP/1.1\r\nHost: test\r\nContent-Length: 1000\r\n\r\n{" + std::string(998, ' ') +
              "}");

  EXPECT_EQ(client.receive().status(), 200);
}

TEST_F(HttpServer, ASlowClientIsToldSo) {
  for (const char* begun :
       {"GET /v1/te", "PUT /v1/test/thing/7 HTTP/1.1\r\nHost: test\r\nContent-Length: 10\r\n\r\n{"}) {
    ServerOptions options;
    options.read_timeout = 1s;
    Client client(start(std::move(options)));
    client.send(begun);

    const Received answer = client.receive();

    EXPECT_EQ(answer.status(), 408) << begun << answer.head;
    EXPECT_EQ(answer.body, "the request did not arrive in time");
  }
}

TEST_F(HttpServer, ADripFeedDoesNotExtendTheTime) {
  ServerOptions options;
  options.read_timeout = 1s;
  Client client(start(std::move(options)));
  client.send("GET /v1/test/thing/7 HTTP/1.1\r\n");
  std::mutex mutex;
  std::condition_variable_any never;
  std::jthread drip([&](std::stop_token stop) {
    std::unique_lock lock(mutex);
    do {
      if (!client.send("X: y\r\n")) return;
    } while (!never.wait_for(lock, stop, 100ms, [] { return false; }) && !stop.stop_requested());
  });

  EXPECT_EQ(client.receive().status(), 408);
}

TEST_F(HttpServer, AnIdleConnectionIsClosedWithoutAWord) {
  ServerOptions options;
  options.idle_timeout = 1s;
  Client client(start(std::move(options)));
  ASSERT_EQ(client.get("/v1/test/thing/one").status(), 200);

  EXPECT_EQ(client.receive_all(), "");
}

TEST_F(HttpServer, AMalformedRequestIsRefused) {
  const std::string address = start();
  for (const char* text : {"nonsense\r\n\r\n", "GET /v1/test HTTP/9.9\r\n\r\n", "GET /x HTTP/1.1\r\nNo colon\r\n\r\n",
                           "PUT /x HTTP/1.1\r\nContent-Length: many\r\n\r\n", "\x16\x03\x01\x02\x01\r\n\r\n"}) {
    Client client(address);
    client.send(text);

    const Received answer = client.receive();

    EXPECT_EQ(answer.status(), 400) << text << answer.head;
    EXPECT_TRUE(answer.body.starts_with("malformed request: ")) << answer.body;
  }
}

TEST_F(HttpServer, AClientThatGoesAwayCancelsItsCall) {
  Client client(start());
  client.send("GET /v1/test/thing/wait HTTP/1.1\r\nHost: test\r\n\r\n");
  ASSERT_TRUE(caller_.holds_call());

  client.hang_up();

  EXPECT_TRUE(caller_.is_cancelled());
}

TEST_F(HttpServer, ACallMayTakeItsTime) {
  ServerOptions options;
  options.read_timeout = 1s;  // of a request, not of its answer
  Client client(start(std::move(options)));
  client.send("GET /v1/test/thing/wait HTTP/1.1\r\nHost: test\r\n\r\n");
  ASSERT_TRUE(caller_.holds_call());
  thing::ThingReply reply;
  reply.set_id("late");
  Client slow(server_->address());
  slow.send("GET /v1/te");
  ASSERT_EQ(slow.receive().status(), 408) << "the time of a request is over";

  caller_.answer(Reply{reply.SerializeAsString(), {}});

  EXPECT_EQ(client.receive().body, R"({"ID":"late"})");
}

TEST_F(HttpServer, StreamsFramesAsTheyCome) {
  Client client(start());
  client.send("GET /v1/test/follow HTTP/1.1\r\nHost: test\r\n\r\n");
  StreamReceiver* stream = caller_.stream();
  ASSERT_NE(stream, nullptr);
  thing::Frame frame;
  frame.set_data("one");

  EXPECT_TRUE(stream->message(frame.SerializeAsString()));
  const std::string head = client.receive_head();
  EXPECT_TRUE(head.starts_with("HTTP/1.1 200 ")) << head;
  EXPECT_NE(head.find("Transfer-Encoding: chunked"), std::string::npos) << head;
  EXPECT_EQ(client.receive_chunk(), R"({"Data":"b25l"})");
  frame.set_data("two");
  EXPECT_TRUE(stream->message(frame.SerializeAsString()));
  EXPECT_EQ(client.receive_chunk(), R"({"Data":"dHdv"})");
  caller_.end_stream(ok_status());
  EXPECT_EQ(client.receive_chunk(), "");

  EXPECT_EQ(client.get("/v1/test/thing/one").status(), 200) << "the connection is kept";
}

TEST_F(HttpServer, StreamsPlainBytesWhenAsked) {
  Client client(start());
  client.send("GET /v1/test/follow?plain=true HTTP/1.1\r\nHost: test\r\n\r\n");
  StreamReceiver* stream = caller_.stream();
  ASSERT_NE(stream, nullptr);
  thing::Frame frame;
  frame.set_data("hello\n");

  EXPECT_TRUE(stream->message(frame.SerializeAsString()));

  EXPECT_NE(client.receive_head().find("Content-Type: text/plain"), std::string::npos);
  EXPECT_EQ(client.receive_chunk(), "hello\n");
}

TEST_F(HttpServer, AStreamThatFailsAtOnceIsAnError) {
  Client client(start());
  Received answer = client.get("/v1/test/follow?id=missing");
  EXPECT_EQ(answer.status(), 404);

  client.send("GET /v1/test/follow HTTP/1.1\r\nHost: test\r\n\r\n");
  ASSERT_NE(caller_.stream(), nullptr);
  caller_.end_stream(invalid_argument("no such file"));

  answer = client.receive();
  EXPECT_EQ(answer.status(), 400);
  EXPECT_EQ(answer.body, "no such file");
}

TEST_F(HttpServer, AClientThatGoesAwayCancelsItsStream) {
  Client client(start());
  client.send("GET /v1/test/follow HTTP/1.1\r\nHost: test\r\n\r\n");
  StreamReceiver* stream = caller_.stream();
  ASSERT_NE(stream, nullptr);

  client.hang_up();

  EXPECT_TRUE(caller_.is_cancelled());
  EXPECT_FALSE(stream->message(thing::Frame().SerializeAsString()));
}

TEST_F(HttpServer, AClientThatDoesNotReadHoldsTheStreamBackUntilItGoes) {
  Client client(start());
  client.send("GET /v1/test/follow?plain=true HTTP/1.1\r\nHost: test\r\n\r\n");
  StreamReceiver* stream = caller_.stream();
  ASSERT_NE(stream, nullptr);
  thing::Frame frame;
  frame.set_data(std::string(1 << 20, 'x'));
  std::atomic<int> sent = 0;
  std::thread writer([&] {
    while (sent < 1000 && stream->message(frame.SerializeAsString())) ++sent;
  });

  client.receive_head();
  client.hang_up();
  writer.join();

  EXPECT_LT(sent, 1000);
}

TEST_F(HttpServer, OneAddressHoldsSoManyConnections) {
  ServerOptions options;
  options.max_connections_per_address = 2;
  const std::string address = start(std::move(options));
  Client first(address);
  ASSERT_EQ(first.get("/v1/test/thing/one").status(), 200);
  {
    Client second(address);
    ASSERT_EQ(second.get("/v1/test/thing/one").status(), 200);
    Client third(address);

    EXPECT_TRUE(third.receive_all().starts_with("HTTP/1.1 429 "));
  }
  // The place of a connection that has ended is free.
  const auto give_up = std::chrono::steady_clock::now() + kPatience;
  int status = 0;
  while (status != 200 && std::chrono::steady_clock::now() < give_up) {
    status = Client(address).get("/v1/test/thing/one").status();
  }
  EXPECT_EQ(status, 200);
}

TEST_F(HttpServer, StoppingEndsConnectionsAndCalls) {
  Client idle(start());
  ASSERT_EQ(idle.get("/v1/test/thing/one").status(), 200);
  Client busy(server_->address());
  busy.send("GET /v1/test/follow HTTP/1.1\r\nHost: test\r\n\r\n");
  ASSERT_NE(caller_.stream(), nullptr);
  std::thread ender([&] {
    EXPECT_TRUE(caller_.is_cancelled());
    caller_.end_stream(cancelled("the caller has gone"));
  });

  server_->stop();
  ender.join();

  EXPECT_EQ(idle.receive_all(), "");
  server_->stop();
}

TEST_F(HttpServer, APortInUseIsNamed) {
  const std::string address = start();
  ServerOptions options;
  options.addresses = {address};
  Server second(std::move(options), routes_, caller_, metrics_);

  const Status status = second.start();

  EXPECT_EQ(status.code(), Code::already_exists);
  EXPECT_EQ(status.message(), "HTTP API on " + address + ": port " + address.substr(address.rfind(':') + 1) +
                                  " is in use by another program; stop it, or set ports { http = … }");
}

TEST_F(HttpServer, AnAddressThatIsNoneIsNamed) {
  ServerOptions options;
  options.addresses = {"localhost:0"};
  Server server(std::move(options), routes_, caller_, metrics_);

  EXPECT_EQ(server.start().to_string(),
            "invalid_argument: HTTP API on localhost:0: \"localhost\" is not an IP address");
}

}  // namespace
}  // namespace drover::api
