#include "http_checks.h"

#include <arpa/inet.h>
#include <gtest/gtest.h>
#include <openssl/pem.h>
#include <openssl/ssl.h>
#include <sys/socket.h>

#include <nlohmann/json.hpp>
#include <thread>

#include "drover/fd.h"
#include "drover/freed.h"
#include "drover/tls.h"

#include "drover/v1/check_provider.pb.h"
#include "nomad/plugins/hclspec.pb.h"

namespace drover::check_http {
namespace {

using Json = nlohmann::json;
using namespace std::chrono_literals;

using SslContext = std::unique_ptr<SSL_CTX, Freed<SSL_CTX_free>>;

// For a server with a certificate that it signed itself, for "localhost".
SslContext self_signed() {
  const auto identity = make_tls_identity();
  EXPECT_TRUE(identity.ok());
  const std::unique_ptr<BIO, Freed<BIO_free_all>> cert(BIO_new_mem_buf(identity->cert.data(), -1));
  const std::unique_ptr<BIO, Freed<BIO_free_all>> key(BIO_new_mem_buf(identity->key.data(), -1));
  const std::unique_ptr<X509, Freed<X509_free>> read(PEM_read_bio_X509(cert.get(), nullptr, nullptr, nullptr));
  const std::unique_ptr<EVP_PKEY, Freed<EVP_PKEY_free>> secret(
      PEM_read_bio_PrivateKey(key.get(), nullptr, nullptr, nullptr));
  SslContext context(SSL_CTX_new(TLS_server_method()));
  EXPECT_EQ(SSL_CTX_use_certificate(context.get(), read.get()), 1);
  EXPECT_EQ(SSL_CTX_use_PrivateKey(context.get(), secret.get()), 1);
  return context;
}

// Answers each connection with the next of its texts, by TLS where it has a context, and keeps what it was asked.
class Server {
 public:
  explicit Server(std::vector<std::string> answers, SslContext tls = {})
      : answers_(std::move(answers)), tls_(std::move(tls)) {
    socket_ = Fd(::socket(AF_INET, SOCK_STREAM, 0));
    sockaddr_in at{};
    at.sin_family = AF_INET;
    at.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t size = sizeof at;
    EXPECT_EQ(::bind(socket_.get(), reinterpret_cast<sockaddr*>(&at), size), 0);
    EXPECT_EQ(::listen(socket_.get(), 8), 0);
    ::getsockname(socket_.get(), reinterpret_cast<sockaddr*>(&at), &size);
    port_ = ntohs(at.sin_port);
    thread_ = std::jthread([this] { serve(); });
  }
  ~Server() {
    ::shutdown(socket_.get(), SHUT_RDWR);
    if (thread_.joinable()) thread_.join();
  }
  uint32_t port() const { return port_; }
  // Requires: all answers have been given.
  std::string asked() {
    thread_.join();
    return asked_;
  }

 private:
  void serve() {
    for (const std::string& answer : answers_) {
      const Fd caller(::accept(socket_.get(), nullptr, nullptr));
      if (!caller) return;
      if (tls_) {
        answer_by_tls(caller.get(), answer);
        continue;
      }
      char bytes[4096];
      const ssize_t size = ::recv(caller.get(), bytes, sizeof bytes, 0);
      if (size > 0) asked_.append(bytes, static_cast<size_t>(size));
      (void)!::send(caller.get(), answer.data(), answer.size(), MSG_NOSIGNAL);
      ::shutdown(caller.get(), SHUT_WR);
      while (::recv(caller.get(), bytes, sizeof bytes, 0) > 0) {
      }
    }
  }
  // Keeps the name that the caller asks for, too.
  void answer_by_tls(int caller, const std::string& answer) {
    const std::unique_ptr<SSL, Freed<SSL_free>> tls(SSL_new(tls_.get()));
    SSL_set_fd(tls.get(), caller);
    if (SSL_accept(tls.get()) != 1) return;  // it does not trust this server
    const char* const name = SSL_get_servername(tls.get(), TLSEXT_NAMETYPE_host_name);
    asked_ += std::string(name ? name : "no name") + "|";
    char bytes[4096];
    const int size = SSL_read(tls.get(), bytes, sizeof bytes);
    if (size > 0) asked_.append(bytes, static_cast<size_t>(size));
    SSL_write(tls.get(), answer.data(), static_cast<int>(answer.size()));
  }

  const std::vector<std::string> answers_;
  const SslContext tls_;
  Fd socket_;
  uint32_t port_ = 0;
  std::string asked_;  // the thread's until it has ended
  std::jthread thread_;
};

v1::RunCheckRequest check_of(uint32_t port, Json options = Json::object()) {
  v1::RunCheckRequest check;
  check.set_type("http");
  check.set_address("127.0.0.1");
  check.set_port(port);
  check.mutable_timeout()->set_seconds(10);
  if (!options.contains("path")) options["path"] = "/health";
  const auto bytes = Json::to_msgpack(options);
  check.set_options(std::string(bytes.begin(), bytes.end()));
  return check;
}

std::string answer_of(const char* status, const std::string& body) {
  return std::string("HTTP/1.1 ") + status + "\r\nContent-Length: " + std::to_string(body.size()) + "\r\n\r\n" + body;
}

TEST(HttpRequest, IsWhatTheCheckSays) {
  struct Case {
    const char* name;
    const char* options;
    const char* url;
  };
  const Case cases[] = {
      {"a path", R"({"path":"/a"})", "http://127.0.0.1:8080/a"},
      {"with a query", R"({"path":"/a?b=c d"})", "http://127.0.0.1:8080/a?b=c%20d"},
      {"without its slash", R"({"path":"a"})", "http://127.0.0.1:8080/a"},
      {"no other host", R"({"path":"//evil/x"})", "http://127.0.0.1:8080//evil/x"},
      {"TLS", R"({"path":"/","protocol":"https"})", "https://127.0.0.1:8080/"},
      {"TLS by another name", R"({"path":"/","protocol":"https","tls_server_name":"a.example"})",
       "https://a.example:8080/"},
  };
  for (const Case& each : cases) {
    const auto request = request_of(check_of(8080, Json::parse(each.options)));
    ASSERT_TRUE(request.ok()) << each.name << request.status().message();
    EXPECT_EQ(request->url, each.url) << each.name;
  }
}

TEST(HttpRequest, IsRefusedByTheNameOfTheOption) {
  const std::pair<const char*, const char*> cases[] = {
      {R"({"protocol":"ftp"})", "protocol must be http or https"},
      {R"({"method":"A B"})", "method: \"A B\" is no HTTP method"},
      {R"({"header":{"A b":["x"]}})", "\"A b\" is no name of a header"},
      {R"({"header":{"A":["x\r\nB: y"]}})", "the end of a line"},
      {R"({"protocol":"https","tls_server_name":"a:b"})", "tls_server_name"},
  };
  for (const auto& [options, error] : cases) {
    const auto request = request_of(check_of(8080, Json::parse(options)));
    EXPECT_NE(request.status().message().find(error), std::string::npos) << options << request.status().message();
  }
  EXPECT_FALSE(request_of(check_of(0)).ok()) << "no port";
}

TEST(HttpChecks, AreJudgedByTheStatus) {
  struct Case {
    const char* status;
    v1::CheckResult::Status expected;
    const char* output;
  };
  const Case cases[] = {{"200 OK", v1::CheckResult::PASSING, "nomad: http ok"},
                        {"204 No Content", v1::CheckResult::PASSING, ""},
                        {"404 Not Found", v1::CheckResult::CRITICAL, "words"},
                        {"503 Unavailable", v1::CheckResult::CRITICAL, "words"}};
  HttpChecks checks;
  for (const Case& each : cases) {
    const bool is_empty = std::string_view(each.status).starts_with("204");
    Server server({answer_of(each.status, is_empty ? "" : "words")});
    const auto result = checks.run(check_of(server.port()), {});
    ASSERT_TRUE(result.ok()) << result.status().message();
    EXPECT_EQ(result->status(), each.expected) << each.status;
    EXPECT_EQ(result->output(), each.output) << each.status;
    EXPECT_EQ(result->code(), std::stoi(each.status));
  }
}

TEST(HttpChecks, SendMethodHeadersAndBody) {
  Server server({answer_of("200 OK", "")});
  HttpChecks checks;
  const Json headers = {{"Host", {"me"}}, {"X", {"1", "2"}}};
  const auto result =
      checks.run(check_of(server.port(), {{"method", "PUT"}, {"body", "hello"}, {"header", headers}}), {});
  ASSERT_TRUE(result.ok());
  const std::string asked = server.asked();
  for (const char* part :
       {"PUT /health HTTP/1.1\r\n", "Host: me\r\n", "X: 1\r\n", "X: 2\r\n", "User-Agent: Nomad/", "\r\n\r\nhello"})
    EXPECT_NE(asked.find(part), std::string::npos) << part << " in " << asked;
  EXPECT_EQ(asked.find("Content-Type"), std::string::npos) << asked;
}

TEST(HttpChecks, FollowRedirects) {
  Server server({"HTTP/1.1 302 Found\r\nLocation: /there\r\nContent-Length: 0\r\n\r\n", answer_of("200 OK", "")});
  HttpChecks checks;
  EXPECT_EQ(checks.run(check_of(server.port()), {})->output(), "nomad: http ok");
  EXPECT_NE(server.asked().find("GET /there"), std::string::npos);
}

TEST(HttpChecks, ReadThreeKibibytes) {
  Server server({"HTTP/1.1 500 No\r\n\r\n" + std::string(100'000, 'x')});
  HttpChecks checks;
  const auto result = checks.run(check_of(server.port()), {});
  EXPECT_EQ(result->code(), 500);
  EXPECT_EQ(result->output().size(), kMaxBody);
}

TEST(HttpChecks, AskByTlsAndTrustNotEverybody) {
  const std::string fine = answer_of("200 OK", "");
  Server server({fine, fine, fine, fine}, self_signed());
  HttpChecks checks;
  const auto result_of = [&](Json more) {
    more["protocol"] = "https";
    return *checks.run(check_of(server.port(), std::move(more)), {});
  };
  const v1::CheckResult refused = result_of({});
  EXPECT_EQ(refused.status(), v1::CheckResult::CRITICAL);
  EXPECT_NE(refused.output().find("certificate"), std::string::npos) << refused.output();
  const v1::CheckResult by_name = result_of({{"tls_server_name", "localhost"}});
  EXPECT_EQ(by_name.status(), v1::CheckResult::CRITICAL) << "nobody vouches for it";
  EXPECT_EQ(result_of({{"tls_skip_verify", true}}).output(), "nomad: http ok");
  EXPECT_EQ(result_of({{"tls_skip_verify", true}, {"tls_server_name", "web.example"}}).output(), "nomad: http ok");
  const std::string asked = server.asked();
  EXPECT_TRUE(asked.starts_with("no name|GET /health ")) << asked << "an address is no name";
  EXPECT_NE(asked.find("web.example|GET /health "), std::string::npos) << asked;
}

TEST(HttpChecks, NobodyThereIsCritical) {
  HttpChecks checks;
  const auto result = checks.run(check_of(1), {});
  ASSERT_TRUE(result.ok()) << result.status().message();
  EXPECT_EQ(result->status(), v1::CheckResult::CRITICAL);
  EXPECT_TRUE(result->output().starts_with("nomad: ")) << result->output();
}

TEST(HttpChecks, EndWhenTheyAreToldTo) {
  Server server({});  // takes the connection and says nothing
  HttpChecks checks;
  std::stop_source stop;
  stop.request_stop();
  EXPECT_EQ(checks.run(check_of(server.port()), stop.get_token()).status().code(), Code::cancelled) << "before";
  std::stop_source later;
  std::jthread ends([&] { later.request_stop(); });
  EXPECT_EQ(checks.run(check_of(server.port()), later.get_token()).status().code(), Code::cancelled);
  checks.stop();
  EXPECT_EQ(checks.run(check_of(server.port()), {}).status().code(), Code::unavailable);
}

TEST(HttpChecks, AreRefusedAfterTheEndAlsoWhereNoneWasAsked) {
  HttpChecks checks;
  checks.stop();
  std::stop_source stop;
  stop.request_stop();
  EXPECT_EQ(checks.run(check_of(1), stop.get_token()).status().code(), Code::unavailable);
}

}  // namespace
}  // namespace drover::check_http
