// How the command line reads a browser's return, and how it prints auth methods and binding rules.
#include <gtest/gtest.h>
#include <sys/socket.h>

#include <boost/asio/connect.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/read.hpp>
#include <boost/asio/write.hpp>
#include <thread>

#include "drover/api/logins.pb.h"
#include "login/callback.h"
#include "login/login_text.h"

namespace drover::cli {
namespace {

TEST(BrowserCallback, IsReadFromARequest) {
  const struct {
    const char* head;
    bool is_it;
    const char *state = "", *code = "", *error = "";
  } cases[] = {
      {"GET /oidc/callback?state=s&code=c HTTP/1.1\r\n\r\n", true, "s", "c"},
      {"GET /oidc/callback?code=a%2Fb+c%zz&state= HTTP/1.1\r\n\r\n", true, "", "a/b c%zz"},
      {"GET /oidc/callback?error=access_denied&state=s HTTP/1.1\r\n\r\n", true, "s", "", "access_denied"},
      {"GET /oidc/callback?state=s HTTP/1.1\r\n\r\n", false, "s"},
      {"GET /oidc/callback HTTP/1.1\r\n\r\n", false},
      {"GET /favicon.ico?code=c HTTP/1.1\r\n\r\n", false},
      {"POST /oidc/callback?state=s&code=c HTTP/1.1\r\n\r\n", false},
      {"GET /oidc/callback?code=%", true, "", "%"},
      {"GET ", false},
      {"", false},
  };
  for (const auto& c : cases) {
    SCOPED_TRACE(c.head);
    const Callback callback = read_callback(c.head);
    EXPECT_EQ(callback.is_it, c.is_it);
    EXPECT_EQ(callback.state, c.state);
    EXPECT_EQ(callback.code, c.code);
    EXPECT_EQ(callback.error, c.error);
  }
}

// The answer that a browser gets to the request.
std::string asked(uint16_t port, const std::string& request) {
  namespace asio = boost::asio;
  asio::io_context context;
  asio::ip::tcp::socket socket(context);
  socket.connect({asio::ip::address_v4::loopback(), port});
  asio::write(socket, asio::buffer(request));
  std::string answer;
  boost::system::error_code end;
  asio::read(socket, asio::dynamic_buffer(answer), end);
  return answer;
}

TEST(BrowserCallback, IsWaitedForWhateverElseComes) {
  // A free port, by the same way that a person names one.
  uint16_t port = 20000;
  Result<CallbackServer> server = CallbackServer::open("127.0.0.1:" + std::to_string(port));
  while (!server) server = CallbackServer::open("127.0.0.1:" + std::to_string(++port));
  for (const char* host : {"127.0.0.1:", "localhost:"})  // of the second one another address may be free
    EXPECT_FALSE(CallbackServer::open(host + std::to_string(port)).ok()) << host;
  std::string other, strange, mine;
  std::jthread browser([&] {
    other = asked(port, "GET /favicon.ico HTTP/1.1\r\n\r\n");
    strange = asked(port, "GET /oidc/callback?state=another&code=d HTTP/1.1\r\n\r\n");
    mine = asked(port, "GET /oidc/callback?state=s&code=c HTTP/1.1\r\n\r\n");
  });
  const auto callback = server->wait(std::chrono::seconds(60), "s");
  browser.join();
  ASSERT_TRUE(callback.ok()) << callback.status().message();
  EXPECT_EQ(callback->code, "c");
  EXPECT_TRUE(other.starts_with("HTTP/1.1 404 "));
  EXPECT_TRUE(strange.starts_with("HTTP/1.1 404 "));
  EXPECT_NE(mine.find("You can close this window"), std::string::npos);
  EXPECT_EQ(server->wait(std::chrono::seconds(0), "s").status().code(), Code::deadline_exceeded);
}

TEST(BrowserCallback, BelongsToTheStateOfItsUrl) {
  const struct {
    const char *url, *state;
  } cases[] = {{"https://id.example/authorize?tenant=1&state=a%2Fb&scope=openid", "a/b"},
               {"https://id.example/?state=s#state=t", "s"},
               {"https://id.example/?state=theirs&state=ours", "ours"},
               {"https://id.example/?other_state=s", ""},
               {"https://id.example/state=s", ""},
               {"https://id.example/?", ""}};
  for (const auto& c : cases) EXPECT_EQ(state_of(c.url), c.state) << c.url;
}

TEST(BrowserCallback, NeedsAnAddress) {
  for (const char* wrong : {"", "4649", ":4649", "localhost:no-port", "host.invalid:1"})
    EXPECT_FALSE(CallbackServer::open(wrong).ok()) << wrong;
}

TEST(LoginText, ShowsMethodsAndRules) {
  v1::AclAuthMethod method;
  method.set_name("company");
  method.set_type("OIDC");
  method.set_token_locality("local");
  method.set_max_token_ttl(3'600'000'000'000);
  method.set_default_(true);
  method.set_create_index(5);
  method.set_modify_index(6);
  method.set_config(
      R"({"BoundAudiences":["a","b"],"ClaimMappings":{"x":"y"},"OIDCClientSecret":"redacted","OIDCScopes":null})");
  EXPECT_EQ(
      auth_method_text(method),
      "Name         = company\nType         = OIDC\nLocality     = local\nMaxTokenTTL  = 1h0m0s\n"
      "Default      = true\nCreate Index = 5\nModify Index = 6\n\nAuth Method Config\n\n"
      "BoundAudiences   = a,b\nClaimMappings    = {x: y}\nOIDCClientSecret = redacted\nOIDCScopes       = null\n");
  v1::AclBindingRule rule;
  rule.set_auth_method("company");
  rule.set_bind_type("management");
  EXPECT_NE(binding_rule_text(rule).find("Bind Name    = <none>\n"), std::string::npos) << binding_rule_text(rule);
}

}  // namespace
}  // namespace drover::cli
