// The server over real connections, with a caller that lives in the test.
#pragma once

#include <arpa/inet.h>
#include <google/protobuf/descriptor.h>
#include <netinet/in.h>
#include <openssl/ssl.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <condition_variable>
#include <filesystem>
#include <fstream>
#include <functional>
#include <mutex>
#include <optional>
#include <thread>

#include "drover/api/acl.pb.h"
#include "drover/freed.h"
#include "drover/tls.h"
#include "gtest/gtest.h"
#include "http_test.pb.h"
#include "server.h"

namespace drover::api {

using namespace std::chrono_literals;
namespace thing = drover::test::http;
inline constexpr auto kPatience = 20s;

// Answers "Get" with the identifier it was asked for; "wait" waits for the test or for the caller to go away. A stream
// is kept for the test to speak into.
class FakeCaller final : public Caller {
 public:
  void call(CallContext context, std::string request, std::function<void(Result<Reply>)> done) override {
    if (context.method == "/drover.v1.Acl/WhoAmI") return done(whose(context.query.token));
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
    if (asked.id() == "denied") return done(permission_denied("Permission denied"));
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
    return std::unique_ptr<StreamCall>(std::make_unique<Handle>(*this));
  }

  static Result<Reply> whose(const std::string& token) {
    v1::WhoAmIResponse who;
    if (token == "task") who.set_kind(v1::WhoAmIResponse::WORKLOAD);
    if (token == "person") who.set_kind(v1::WhoAmIResponse::TOKEN);
    if (token == "anonymous") who.set_kind(v1::WhoAmIResponse::ANONYMOUS);
    if (token == "nobody is there") return unavailable("No cluster leader");
    if (token == "access control is off") return invalid_argument("ACL support disabled");
    if (who.kind() == v1::WhoAmIResponse::KIND_UNSPECIFIED) return permission_denied("Permission denied");
    return Reply{who.SerializeAsString(), {}};
  }

  // Returns the upload once `size` bytes of it have come, or the client has said everything.
  std::string uploaded(size_t size) {
    wait([&] { return uploaded_.size() >= size || has_all_; });
    std::lock_guard lock(mutex_);
    return uploaded_;
  }
  bool has_all() {
    return wait([this] { return has_all_; });
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
  // From here on, what a client says is not taken until its call is cancelled.
  void take_nothing() { takes_nothing_ = true; }
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
    explicit Handle(FakeCaller& caller) : caller_(caller) {}
    bool send(std::string message) override {
      if (caller_.takes_nothing_) {
        EXPECT_TRUE(caller_.is_cancelled());
        return false;
      }
      thing::Piece piece;
      EXPECT_TRUE(piece.ParseFromString(message));
      std::lock_guard lock(caller_.mutex_);
      caller_.uploaded_ += piece.data();
      caller_.changed_.notify_all();
      return static_cast<bool>(caller_.receiver_.message);
    }
    void close_sending() override {
      std::lock_guard lock(caller_.mutex_);
      caller_.has_all_ = true;
      caller_.changed_.notify_all();
    }
    void cancel() override {}

   private:
    FakeCaller& caller_;
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
  std::string uploaded_;
  bool has_all_ = false;
  bool is_cancelled_ = false;
  std::atomic<bool> takes_nothing_ = false;
  std::optional<std::stop_callback<std::function<void()>>> on_stop_;
};

struct Received {
  std::string head;
  std::string body;
  int status() const { return head.size() < 12 ? 0 : std::atoi(head.c_str() + 9); }
  bool has(const std::string& line) const { return head.find(line + "\r\n") != std::string::npos; }
};

using TlsClientContext = std::unique_ptr<SSL_CTX, Freed<SSL_CTX_free>>;

// A key and a certificate in files of the test, good for both ends.
class Pair {
 public:
  explicit Pair(const std::string& name)
      : base_(::testing::TempDir() + "drover-http-" + std::to_string(::getpid()) + "-" + name) {
    renew();
  }
  ~Pair() {
    std::filesystem::remove(cert());
    std::filesystem::remove(key());
  }
  Pair(const Pair&) = delete;
  Pair& operator=(const Pair&) = delete;
  void renew() {
    const auto made = make_tls_identity();
    ASSERT_TRUE(made.ok());
    identity_ = *made;
    std::ofstream(cert()) << identity_.cert;
    std::ofstream(key()) << identity_.key;
  }
  std::string cert() const { return base_ + ".pem"; }
  std::string key() const { return base_ + "-key.pem"; }
  const std::string& text() const { return identity_.cert; }

  // A client's side that trusts this certificate alone, and shows it.
  TlsClientContext client() const {
    TlsClientContext context(SSL_CTX_new(TLS_client_method()));
    EXPECT_EQ(SSL_CTX_load_verify_locations(context.get(), cert().c_str(), nullptr), 1);
    SSL_CTX_set_verify(context.get(), SSL_VERIFY_PEER, nullptr);
    EXPECT_EQ(SSL_CTX_use_certificate_file(context.get(), cert().c_str(), SSL_FILETYPE_PEM), 1);
    EXPECT_EQ(SSL_CTX_use_PrivateKey_file(context.get(), key().c_str(), SSL_FILETYPE_PEM), 1);
    return context;
  }
  TlsSettings settings() const {
    TlsSettings settings{.cert_file = cert(), .key_file = key(), .min_version = TLS1_2_VERSION};
    settings.suites = {"TLS_ECDHE_ECDSA_WITH_AES_256_GCM_SHA384", "TLS_ECDHE_RSA_WITH_AES_256_GCM_SHA384"};
    return settings;
  }

 private:
  const std::string base_;
  TlsIdentity identity_;
};

// A connection as any client makes one; reads give up after a while.
class Client {
 public:
  explicit Client(int family = AF_INET) : socket_(::socket(family, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
    timeval patience{.tv_sec = 20, .tv_usec = 0};
    setsockopt(socket_, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof(patience));
  }
  // "host:port", or the path of a Unix socket.
  explicit Client(const std::string& address) : Client(address.starts_with('/') ? AF_UNIX : AF_INET) {
    connect_to(address);
  }
  void connect_to(const std::string& address) {
    sockaddr_in to{};
    sockaddr_un path{};
    path.sun_family = AF_UNIX;
    if (address.starts_with('/')) {
      address.copy(path.sun_path, sizeof(path.sun_path) - 1);
      EXPECT_EQ(connect(socket_, reinterpret_cast<sockaddr*>(&path), sizeof(path)), 0);
      return;
    }
    to.sin_family = AF_INET;
    to.sin_port = htons(static_cast<uint16_t>(std::stoi(address.substr(address.rfind(':') + 1))));
    to.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    EXPECT_EQ(connect(socket_, reinterpret_cast<sockaddr*>(&to), sizeof(to)), 0);
  }
  // False when there is no agreement.
  bool begin_tls(SSL_CTX* context) {
    tls_.reset(SSL_new(context));
    SSL_set_fd(tls_.get(), socket_);
    return SSL_connect(tls_.get()) == 1;
  }
  SSL* tls() { return tls_.get(); }
  Client(const Client&) = delete;
  ~Client() { hang_up(); }
  void hang_up() {
    if (socket_ >= 0 && tls_) SSL_shutdown(tls_.get());
    if (socket_ >= 0) close(std::exchange(socket_, -1));
  }

  // False once the server has closed the connection.
  bool send(std::string_view text) {
    while (!text.empty()) {
      const ssize_t sent = tls_ ? SSL_write(tls_.get(), text.data(), static_cast<int>(text.size()))
                                : ::send(socket_, text.data(), text.size(), MSG_NOSIGNAL);
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
  // Reads that much more of what comes. False when there is no more.
  bool receive_more(size_t size) {
    for (size += buffer_.size(); buffer_.size() < size;) {
      if (!read_more()) return false;
    }
    return true;
  }
  // One frame of a WebSocket to the server; `kind`: 1 text, 8 close. The mask changes nothing.
  bool send_frame(std::string_view payload, int kind = 1) {
    std::string frame{static_cast<char>(0x80 | kind), static_cast<char>(0x80 | payload.size())};
    return send(frame + std::string(4, '\0') + std::string(payload));
  }
  // The next one of it, of less than 126 bytes: its kind as a digit, a colon and the payload.
  std::string receive_frame() {
    while (buffer_.size() < 2 || buffer_.size() < 2u + static_cast<unsigned char>(buffer_[1])) {
      if (!read_more()) return "closed";
    }
    const std::string head = take(2);
    return std::to_string(head[0] & 0x0f) + ":" + take(static_cast<unsigned char>(head[1]));
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
    const ssize_t got = tls_ ? SSL_read(tls_.get(), bytes, sizeof(bytes)) : recv(socket_, bytes, sizeof(bytes), 0);
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
  std::unique_ptr<SSL, Freed<SSL_free>> tls_;
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

}  // namespace drover::api
