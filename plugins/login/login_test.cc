// The handlers over a state in memory, with an auth method of the test's own: its Config lists people.
#include <gtest/gtest.h>

#include <array>
#include <atomic>
#include <functional>
#include <memory>
#include <nlohmann/json.hpp>
#include <thread>
#include <utility>
#include <vector>

#include "config_secrets.h"
#include "drover/api/acl.pb.h"
#include "drover/api/keyring.pb.h"
#include "drover/api/logins.pb.h"
#include "drover/uuid.h"
#include "drover/v1/auth_method.pb.h"
#include "login.pb.h"
#include "rpc.h"
#include "sdk/testing/fake_host.h"
#include "sdk/testing/fake_keyring.h"
#include "tables.h"

namespace drover::login {
namespace {

using Json = nlohmann::json;
using namespace std::chrono_literals;

constexpr const char* kRedirect = "http://localhost:4649/oidc/callback";

// {"People": {"TOKEN": {"name": …}}, "EndsIn": seconds}. By browser everybody is the first of them.
class People final : public AuthMethod {
 public:
  explicit People(const Clock& clock) : clock_(clock) {}
  std::string type() const override { return "People"; }
  Flows flows() const override { return {.token = !is_browser_only, .browser = true}; }
  Result<std::vector<v1::AuthConfigError>> check_config(std::string_view config) override {
    happen();
    const Json json = Json::parse(config);
    std::vector<v1::AuthConfigError> errors;
    if (!json.contains("People")) errors.push_back(auth::config_error("People", "missing People"));
    if (json.contains("Bad")) errors.push_back(auth::config_error("Bad", "is bad"));
    return errors;
  }
  Result<v1::AuthIdentity> login(const v1::AuthLoginRequest& request, std::stop_token stop) override {
    if (request.token() == "slow") {
      while (!stop.stop_requested()) std::this_thread::yield();
      return cancelled("nobody waits");
    }
    happen();
    const Json config = Json::parse(request.config());
    if (!config["People"].contains(request.token())) return auth::refused("nobody has the token " + request.token());
    return identity_of(config, config["People"][request.token()]);
  }
  Result<v1::StartAuthLoginResponse> start_login(const v1::StartAuthLoginRequest& request, std::stop_token) override {
    state = request.state();
    v1::StartAuthLoginResponse response;
    response.set_auth_url("https://id.example/?state=" + state);
    response.set_kept("kept for " + state);
    return response;
  }
  Result<v1::AuthIdentity> complete_login(const v1::CompleteAuthLoginRequest& request, std::stop_token) override {
    if (request.code() != "good") return auth::refused("not the code " + request.code());
    EXPECT_EQ(request.kept(), "kept for " + request.state());
    happen();
    const Json config = Json::parse(request.config());
    return identity_of(config, *config["People"].begin());
  }

  std::string state;
  bool is_browser_only = false;
  std::function<void()> meanwhile;  // happens once, while the plugin is asked

 private:
  void happen() {
    if (meanwhile) std::exchange(meanwhile, {})();
  }
  Result<v1::AuthIdentity> identity_of(const Json& config, const Json& person) const {
    v1::AuthIdentity who;
    who.set_subject(person["name"]);
    (*who.mutable_claims())["name"] = person["name"];
    for (const auto& each : person.value("groups", std::vector<std::string>()))
      (*who.mutable_list_claims())["groups"].add_values(each);
    if (config.contains("EndsIn"))
      who.mutable_expires_at()->set_seconds(clock_.wall_ns() / 1'000'000'000 + config["EndsIn"].get<int64_t>());
    return who;
  }
  const Clock& clock_;
};

class Logins : public ::testing::Test {
 protected:
  Logins() {
    host_.delay_tasks();
    root_keys_ = Table<v1::RootKey>(host_.rows().add_table(Table<v1::RootKey>::spec(
        "root_keys", {}, [](const v1::RootKey& key, RowKeys& out) { out.primary(key.key_id()); })));
    put_root_key(keyring_.active, v1::ROOT_KEY_STATE_ACTIVE);
    secrets_.start(&keyring_);
    EXPECT_TRUE(declare_tables(host_.rows(), tables_).ok());
    EXPECT_TRUE(rpc_.declare(host_.rows()).ok());
    EXPECT_TRUE(host_.rows().extend<AuthMethod>("people", people_).ok());
    rpc_.start(host_, {.is_enabled = true});
    host_.answer_calls_with([this](const CallContext& context, const std::string& request) -> Result<std::string> {
      EXPECT_EQ(context.method, "/drover.v1.Acl/CreateLoginToken");
      EXPECT_TRUE(context.from_server);
      EXPECT_TRUE(asked_.ParseFromString(request));
      v1::AclTokenResponse response;
      response.mutable_token()->set_name(asked_.name());
      return response.SerializeAsString();
    });
  }

  void put_root_key(const std::string& id, v1::RootKeyState state) {
    v1::RootKey key;
    key.set_key_id(id);
    key.set_state(state);
    host_.commit([&](WriteTransaction& rows) { EXPECT_TRUE(root_keys_.put(rows, key).ok()); });
  }
  v1::AclAuthMethod row(const std::string& name) { return *tables_.methods.get(*host_.snapshot(), name); }
  template <typename Response, typename Request>
  Result<Response> call(const std::string& method, const Request& request) {
    return host_.answer<Response>("/drover.v1.Logins/" + method, request);
  }
  Result<v1::AuthMethodResponse> apply(const std::string& name, const Json& config, bool is_default = false,
                                       const std::function<void(v1::AclAuthMethod&)>& fill = {}) {
    v1::ApplyAuthMethodRequest request;
    request.set_name(name);
    v1::AclAuthMethod& method = *request.mutable_method();
    method.set_type("people");
    method.set_token_locality("local");
    method.set_max_token_ttl(std::chrono::nanoseconds(1h).count());
    method.set_default_(is_default);
    method.set_config(config.dump());
    if (fill) fill(method);
    return call<v1::AuthMethodResponse>("ApplyMethod", request);
  }
  Result<v1::BindingRuleResponse> bind_to(const std::string& type, const std::string& name,
                                          const std::string& selector = "", const std::string& method = "m") {
    v1::ApplyBindingRuleRequest request;
    request.mutable_rule()->set_auth_method(method);
    request.mutable_rule()->set_bind_type(type);
    request.mutable_rule()->set_bind_name(name);
    request.mutable_rule()->set_selector(selector);
    return call<v1::BindingRuleResponse>("ApplyRule", request);
  }
  Status login(const std::string& token, const std::string& method = "m") {
    v1::LoginRequest request;
    request.set_auth_method_name(method);
    request.set_login_token(token);
    return call<v1::AclTokenResponse>("Login", request).status();
  }
  Result<v1::StartBrowserLoginResponse> start(const std::string& nonce = "nonce", const std::string& method = "m") {
    v1::StartBrowserLoginRequest request;
    request.set_auth_method_name(method);
    request.set_redirect_uri(kRedirect);
    request.set_client_nonce(nonce);
    return call<v1::StartBrowserLoginResponse>("StartBrowserLogin", request);
  }
  Status complete(const std::string& state, const std::string& nonce = "nonce", const std::string& code = "good",
                  const std::string& redirect = kRedirect, const std::string& method = "m") {
    v1::CompleteBrowserLoginRequest request;
    request.set_auth_method_name(method);
    request.set_client_nonce(nonce);
    request.set_state(state);
    request.set_code(code);
    request.set_redirect_uri(redirect);
    return call<v1::AclTokenResponse>("CompleteBrowserLogin", request).status();
  }

  const Json kConfig{
      {"People", {{"ada-token", {{"name", "Ada"}, {"groups", {"engineers"}}}}, {"bob-token", {{"name", "Bob"}}}}}};

  drover::testing::FakeHost host_;
  Tables tables_;
  Table<v1::RootKey> root_keys_;
  drover::testing::FakeKeyring keyring_;
  ConfigSecrets secrets_;
  Rpc rpc_{tables_, secrets_};
  People people_{host_.forward_clock()};
  v1::CreateLoginTokenRequest asked_;
};

TEST_F(Logins, LeadToATokenWithWhatTheRulesGive) {
  ASSERT_TRUE(apply("m", kConfig).ok());
  ASSERT_TRUE(bind_to("policy", "of-${value.name}").ok());
  ASSERT_TRUE(bind_to("role", "engineers", "\"engineers\" in list.groups").ok());
  ASSERT_TRUE(apply("other", kConfig).ok());
  ASSERT_TRUE(bind_to("management", "", "", "other").ok());
  EXPECT_EQ(login("ada-token"), ok_status());
  EXPECT_EQ(asked_.name(), "People-m");
  EXPECT_EQ(asked_.policies(0), "of-ada");
  EXPECT_EQ(asked_.roles(0), "engineers");
  EXPECT_FALSE(asked_.management());
  EXPECT_FALSE(asked_.global());
  EXPECT_EQ(asked_.ttl(), std::chrono::nanoseconds(1h).count());
  EXPECT_EQ(login("bob-token"), ok_status());
  EXPECT_EQ(asked_.policies(0), "of-bob");
  EXPECT_EQ(asked_.roles_size(), 0);
  EXPECT_EQ(login("bob-token", "other"), ok_status());
  EXPECT_TRUE(asked_.management());
  EXPECT_EQ(asked_.policies_size(), 0);
}

TEST_F(Logins, EndWithWhatTheyRestOn) {
  Json config = kConfig;
  config["EndsIn"] = 600;
  const auto global = [](v1::AclAuthMethod& method) {
    method.set_token_locality("global");
    method.set_token_name_format("${value.name}!");
  };
  ASSERT_TRUE(apply("m", config, false, global).ok());
  ASSERT_TRUE(bind_to("policy", "p").ok());
  EXPECT_EQ(login("ada-token"), ok_status());
  EXPECT_LE(asked_.ttl(), std::chrono::nanoseconds(600s).count());
  EXPECT_GT(asked_.ttl(), std::chrono::nanoseconds(500s).count());
  EXPECT_TRUE(asked_.global());
  EXPECT_EQ(asked_.name(), "Ada!");
}

TEST_F(Logins, LiveNoLongerThanTheirMethodSaysAndNotAfterTheirEnd) {
  const auto login_that_ends_in = [&](int64_t seconds) {
    Json config = kConfig;
    config["EndsIn"] = seconds;
    EXPECT_TRUE(apply("m", config).ok());
    asked_.Clear();
    return login("ada-token");
  };
  ASSERT_TRUE(apply("m", kConfig).ok());
  ASSERT_TRUE(bind_to("policy", "p").ok());
  for (const int64_t far : {int64_t{7'200}, int64_t{7'600'000'000}, int64_t{1} << 62}) {
    EXPECT_EQ(login_that_ends_in(far), ok_status()) << far;
    EXPECT_EQ(asked_.ttl(), std::chrono::nanoseconds(1h).count()) << far;
  }
  for (const int64_t past : {int64_t{0}, int64_t{-1}, int64_t{-9'000'000'000}, -(int64_t{1} << 62)}) {
    const Status status = login_that_ends_in(past);
    EXPECT_EQ(status.message(), "what the login rests on has ended") << past;
    EXPECT_EQ(http_status_of(status), 401) << past;
    EXPECT_EQ(asked_.name(), "") << past;
  }
}

TEST_F(Logins, EndWithAMethodThatIsAnotherOneMeanwhile) {
  const char* const kChanged = "the auth method was changed since the login began; begin anew";
  ASSERT_TRUE(apply("m", kConfig).ok());
  ASSERT_TRUE(bind_to("policy", "p").ok());
  v1::AuthMethodRequest named;
  named.set_name("m");
  const auto change = [&] { EXPECT_TRUE(apply("m", kConfig).ok()); };
  const auto erase = [&] { EXPECT_TRUE(call<v1::LoginChangedResponse>("DeleteMethod", named).ok()); };
  for (const std::function<void()>& happens : {std::function<void()>(change), std::function<void()>(erase)}) {
    people_.meanwhile = happens;
    const Status by_token = login("ada-token");
    EXPECT_EQ(by_token.message(), kChanged);
    EXPECT_EQ(http_status_of(by_token), 401);
    EXPECT_TRUE(apply("m", kConfig).ok());
    ASSERT_TRUE(start().ok());
    people_.meanwhile = happens;
    EXPECT_EQ(complete(people_.state).message(), kChanged);
    EXPECT_TRUE(apply("m", kConfig).ok());
    ASSERT_TRUE(start().ok());
    happens();
    EXPECT_EQ(complete(people_.state).message(), kChanged);
    EXPECT_TRUE(apply("m", kConfig).ok());
  }
  EXPECT_EQ(asked_.name(), "");
  EXPECT_EQ(login("ada-token"), ok_status());
}

TEST_F(Logins, AreRefusedWithoutASecretInTheText) {
  ASSERT_TRUE(apply("m", kConfig).ok());
  const Status status = login("a-wrong-token");
  EXPECT_EQ(http_status_of(status), 401);
  EXPECT_EQ(status.message(), "unable to validate provided token: nobody has the token [secret]");
  EXPECT_EQ(login("ada-token", "none").message(), "auth-method \"none\" not found");
  EXPECT_EQ(login("", "").message(), "invalid login request: missing auth method name, missing login token");
  EXPECT_EQ(login(std::string(17000, 'x')).message(), "invalid login request: login token is too long");
  people_.is_browser_only = true;
  EXPECT_EQ(login("ada-token").message(), "auth-method \"m\" of type People has no login with a token");
  EXPECT_EQ(asked_.name(), "");
}

TEST_F(Logins, DoNotWaitForAPluginForEver) {
  ASSERT_TRUE(apply("m", kConfig).ok());
  std::atomic<bool> has_ended = false;
  std::jthread impatient([&] {
    while (!has_ended) host_.run_delayed();  // thirty seconds have passed
  });
  EXPECT_EQ(login("slow").code(), Code::cancelled);
  has_ended = true;
}

TEST_F(Logins, WithABrowserAreCompletedOnceByWhoBeganThem) {
  ASSERT_TRUE(apply("m", kConfig).ok());
  ASSERT_TRUE(apply("other", kConfig).ok());
  ASSERT_TRUE(bind_to("policy", "p").ok());
  const auto begin = [&] {
    const auto started = start();
    EXPECT_TRUE(started.ok()) << started.status().message();
    EXPECT_EQ(started->auth_url(), "https://id.example/?state=" + people_.state);
    return people_.state;
  };
  const std::string first = begin(), second = begin();
  EXPECT_NE(first, second);
  EXPECT_GE(first.size(), 43u);
  EXPECT_EQ(complete(first), ok_status());
  EXPECT_EQ(asked_.policies(0), "p");
  EXPECT_EQ(complete(second), ok_status());
  const char* const kNone = "no OIDC request found for client nonce";
  EXPECT_EQ(complete(first).message(), kNone);
  EXPECT_EQ(http_status_of(complete(first)), 401);
  EXPECT_EQ(complete("guessed").message(), kNone);
  // A state is used up by whoever shows it.
  for (const auto& wrong :
       {std::array{"another", "good", kRedirect, "m"}, std::array{"nonce", "good", "http://x/", "m"},
        std::array{"nonce", "good", kRedirect, "other"}}) {
    const std::string state = begin();
    EXPECT_EQ(complete(state, wrong[0], wrong[1], wrong[2], wrong[3]).message(), kNone);
    EXPECT_EQ(complete(state).message(), kNone);
  }
  const Status refused = complete(begin(), "nonce", "a-wrong-code");
  EXPECT_EQ(refused.message(), "not the code [secret]");
  EXPECT_EQ(http_status_of(refused), 401);
}

TEST_F(Logins, WithABrowserEndAfterTenMinutesAndWithTheirMethod) {
  ASSERT_TRUE(apply("m", kConfig).ok());
  ASSERT_TRUE(bind_to("policy", "p").ok());
  ASSERT_TRUE(start().ok());
  host_.forward_clock().advance(10min);
  EXPECT_EQ(complete(people_.state).message(), "no OIDC request found for client nonce");
  ASSERT_TRUE(start().ok());
  ASSERT_TRUE(apply("m", kConfig).ok());
  EXPECT_EQ(complete(people_.state).message(), "the auth method was changed since the login began; begin anew");
}

TEST_F(Logins, WithABrowserAreBounded) {
  ASSERT_TRUE(apply("m", kConfig).ok());
  for (size_t i = 0; i < PendingLogins::kMostOfOne; ++i) ASSERT_TRUE(start().ok());
  EXPECT_EQ(start().status().code(), Code::resource_exhausted);
  host_.forward_clock().advance(10min);
  EXPECT_TRUE(start().ok());
}

TEST(PendingLogins, MakeRoomFromWhoHasMost) {
  drover::testing::ForwardClock clock;
  PendingLogins pending(clock);
  const auto add = [&](const std::string& state, const std::string& address) {
    clock.advance(1ms);
    return pending.add(state, {.address = address});
  };
  const auto is_there = [&](const std::string& state) { return pending.take(state, "", "", "").has_value(); };
  ASSERT_TRUE(add("early", "10.0.0.1").ok());
  const size_t most = PendingLogins::kMostOfOne;
  for (size_t i = 0; i < most; ++i)
    ASSERT_TRUE(add("greedy " + std::to_string(i), "10.0.0.2:" + std::to_string(i)).ok());
  EXPECT_EQ(add("one too many", "10.0.0.2:9").code(), Code::resource_exhausted);
  for (size_t i = most + 1; i < PendingLogins::kMost; ++i)
    ASSERT_TRUE(add("other " + std::to_string(i), "caller " + std::to_string(i)).ok());
  EXPECT_TRUE(add("late", "10.0.0.3").ok());
  EXPECT_FALSE(is_there("greedy 0"));
  for (const char* kept : {"early", "greedy 1", "late"}) {
    EXPECT_TRUE(is_there(kept)) << kept;
    EXPECT_FALSE(is_there(kept)) << kept << ": once";
  }
}

TEST(PendingLogins, AreCountedByWhatACallerCannotChoose) {
  const struct {
    const char *address, *network;
  } cases[] = {{"10.0.0.1", "10.0.0.1"},
               {"10.0.0.1:4711", "10.0.0.1"},
               {"ipv4:10.0.0.1:4711", "10.0.0.1"},
               {"::ffff:10.0.0.1", "10.0.0.1"},
               {"[::ffff:10.0.0.1]:4711", "10.0.0.1"},
               {"2001:db8:0:1:2:3:4:5", "2001:db8:0:1::/64"},
               {"[2001:db8:0:1::9]:4711", "2001:db8:0:1::/64"},
               {"ipv6:[2001:db8:0:1::9]:4711", "2001:db8:0:1::/64"},
               {"ipv6:%5B2001:db8:0:1::9%5D:4711", "2001:db8:0:1::/64"},
               {"fe80::1%eth0", "fe80::/64"},
               {"", ""}};
  for (const auto& c : cases) EXPECT_EQ(network_of(c.address), c.network) << c.address;
}

TEST(LoginPlaces, AreBoundedInAllAndOfAMethod) {
  Places places;
  std::vector<std::shared_ptr<void>> taken;
  const auto take = [&](const std::string& method) {
    auto place = places.take(method);
    if (place) taken.push_back(*std::move(place));
    return place.status().code();
  };
  for (int i = 0; i < Places::kMostOfOne; ++i) ASSERT_EQ(take("slow"), Code::ok);
  EXPECT_EQ(take("slow"), Code::resource_exhausted);
  for (int i = Places::kMostOfOne; i < Places::kMost; ++i) ASSERT_EQ(take(std::to_string(i)), Code::ok);
  EXPECT_EQ(take("one more"), Code::resource_exhausted);
  taken.erase(taken.begin());
  EXPECT_EQ(take("slow"), Code::ok);
  taken.clear();
  EXPECT_EQ(take("slow"), Code::ok);
}

TEST_F(Logins, WithABrowserNeedAllTheirParts) {
  v1::StartBrowserLoginRequest request;
  EXPECT_EQ(call<v1::StartBrowserLoginResponse>("StartBrowserLogin", request).status().message(),
            "invalid OIDC auth-url request: missing auth method name, missing client nonce, missing redirect URI");
  v1::CompleteBrowserLoginRequest completion;
  EXPECT_EQ(call<v1::AclTokenResponse>("CompleteBrowserLogin", completion).status().message(),
            "invalid OIDC complete-auth request: missing auth method name, missing client nonce, missing state, "
            "missing code, missing redirect URI");
  EXPECT_EQ(start("nonce", "none").status().message(), "auth-method \"none\" not found");
}

TEST_F(Logins, AreNotThereWithoutAccessControl) {
  rpc_.start(host_, {.is_enabled = false});
  EXPECT_EQ(login("x").message(), "ACL support disabled");
  EXPECT_EQ(apply("m", kConfig).status().message(), "ACL support disabled");
}

TEST_F(Logins, ByMethodsAreCreatedChangedShownAndDeleted) {
  Json config = kConfig;
  config["APISecret"] = "hush";
  const auto made = apply("m", config, true);
  ASSERT_TRUE(made.ok()) << made.status().message();
  EXPECT_EQ(made->method().type(), "People");  // as the plugin writes it
  EXPECT_NE(made->method().config().find("\"APISecret\":\"redacted\""), std::string::npos);
  EXPECT_GT(made->method().create_time(), 0);
  v1::AuthMethodRequest named;
  named.set_name("m");
  const auto shown = call<v1::AuthMethodResponse>("GetMethod", named);
  EXPECT_EQ(shown->method().SerializeAsString(), made->method().SerializeAsString());
  // The answer is written again: the secret stays.
  const auto again = apply("m", Json::parse(shown->method().config()), true);
  ASSERT_TRUE(again.ok()) << again.status().message();
  EXPECT_EQ(again->method().hash(), made->method().hash());
  EXPECT_EQ(again->method().create_index(), made->method().create_index());
  EXPECT_GT(again->method().modify_index(), made->method().modify_index());
  v1::AclAuthMethod kept = row("m");
  EXPECT_EQ(serialize(kept).find("hush"), std::string::npos) << "it is sealed";
  ASSERT_EQ(secrets_.open(kept), ok_status());
  EXPECT_NE(kept.config().find("hush"), std::string::npos);
  // Fields that are not said stay.
  const auto bare = apply("m", kConfig, true, [](v1::AclAuthMethod& method) {
    method.Clear();
    method.set_name("m");
    method.set_default_(true);
    method.set_config("null");
  });
  ASSERT_TRUE(bare.ok()) << bare.status().message();
  EXPECT_EQ(bare->method().hash(), made->method().hash());

  const auto list = call<v1::ListAuthMethodsResponse>("ListMethods", v1::ListAuthMethodsRequest());
  ASSERT_EQ(list->methods_size(), 1);
  EXPECT_TRUE(list->methods(0).default_());
  EXPECT_TRUE(call<v1::LoginChangedResponse>("DeleteMethod", named).ok());
  EXPECT_EQ(call<v1::LoginChangedResponse>("DeleteMethod", named).status(), not_found("ACL auth-method not found"));
  EXPECT_EQ(call<v1::AuthMethodResponse>("GetMethod", named).status(), not_found("ACL auth-method not found"));
}

TEST_F(Logins, ByMethodsWithErrorsAreNot) {
  const struct {
    const char* name;
    Json config;
    std::function<void(v1::AclAuthMethod&)> fill;
    const char* error;
  } cases[] = {
      {"Config", {{"Bad", 1}}, {}, "auth method 0 invalid: missing People; Bad: is bad"},
      {"Config of another form", Json::array(), {}, "Config must be an object"},
      {"type", kConfig, [](v1::AclAuthMethod& m) { m.set_type("LDAP"); },
       "auth method 0 invalid: invalid token type 'LDAP'"},
      {"life", kConfig, [](v1::AclAuthMethod& m) { m.set_max_token_ttl(1); },
       "auth method 0 invalid: invalid MaxTokenTTL value '1ns' (should be between 1m0s and 24h0m0s)"},
      {"path", kConfig, [](v1::AclAuthMethod& m) { m.set_name("other"); },
       "ACL auth method name does not match request path"},
      {"a secret that is none",
       {{"People", 1}, {"Secret", "redacted"}},
       {},
       "Config: Secret: there is no secret that is redacted"},
  };
  for (const auto& c : cases) {
    SCOPED_TRACE(c.name);
    EXPECT_EQ(apply("m", c.config, false, c.fill).status().message(), c.error);
  }
  EXPECT_TRUE(host_.proposed().empty());
  ASSERT_TRUE(apply("m", kConfig, true).ok());
  EXPECT_EQ(apply("n", kConfig, true).status().message(), "auth method 0 invalid: default method already exists: m");
  // The log refuses a second default, too: another may have come meanwhile.
  v1::AclAuthMethodApplied command;
  command.mutable_method()->set_name("n");
  command.mutable_method()->set_default_(true);
  EXPECT_EQ(host_.propose(command, SteadyTime::max()).status().message(), "default method already exists: m");
}

TEST_F(Logins, ByMethodsTellNothingOfASecretInTheirDigest) {
  const auto digest = [&](const char* secret, const char* other) {
    Json config = kConfig;
    config["APISecret"] = secret;
    config["Other"] = other;
    const auto made = apply("m", config);
    EXPECT_TRUE(made.ok()) << made.status().message();
    return made.ok() ? made->method().hash() : std::string();
  };
  const std::string first = digest("hush", "a");
  EXPECT_EQ(first.size(), 32u);
  EXPECT_EQ(digest("another", "a"), first);
  EXPECT_NE(digest("another", "b"), first);
}

TEST_F(Logins, ByMethodsAreNotChangedByTwoAtOnce) {
  const Status kMeanwhile = aborted("the auth method was changed meanwhile; try again");
  const auto put = [&](bool is_default) {
    return [this, is_default] { EXPECT_TRUE(apply("m", kConfig, is_default).ok()); };
  };
  people_.meanwhile = put(false);
  EXPECT_EQ(apply("m", kConfig).status(), kMeanwhile) << "both create it";
  people_.meanwhile = put(true);
  EXPECT_EQ(apply("m", kConfig).status(), kMeanwhile) << "both change it";
  EXPECT_TRUE(tables_.methods.get(*host_.snapshot(), "m")->default_());
  v1::AuthMethodRequest named;
  named.set_name("m");
  people_.meanwhile = [&] { EXPECT_TRUE(call<v1::LoginChangedResponse>("DeleteMethod", named).ok()); };
  EXPECT_EQ(apply("m", kConfig).status(), kMeanwhile) << "it is deleted";
  EXPECT_FALSE(tables_.methods.get(*host_.snapshot(), "m"));
  EXPECT_TRUE(apply("m", kConfig).ok());
}

TEST_F(Logins, ByRulesAreCreatedChangedAndDeleted) {
  ASSERT_TRUE(apply("m", kConfig).ok());
  ASSERT_TRUE(apply("n", kConfig).ok());
  const auto made = bind_to("role", "ops", "value.name == Ada");
  ASSERT_TRUE(made.ok()) << made.status().message();
  const std::string id = Uuid::from_bytes(made->rule().id()).to_string();
  v1::BindingRuleRequest named;
  named.set_id(id);
  EXPECT_EQ(call<v1::BindingRuleResponse>("GetRule", named)->rule().SerializeAsString(),
            made->rule().SerializeAsString());
  v1::ApplyBindingRuleRequest change;
  change.set_id(id);
  *change.mutable_rule() = made->rule();
  change.mutable_rule()->clear_auth_method();
  change.mutable_rule()->set_bind_name("others");
  const auto changed = call<v1::BindingRuleResponse>("ApplyRule", change);
  ASSERT_TRUE(changed.ok()) << changed.status().message();
  EXPECT_EQ(changed->rule().auth_method(), "m");
  EXPECT_EQ(changed->rule().create_time(), made->rule().create_time());
  EXPECT_EQ(changed->rule().create_index(), made->rule().create_index());
  EXPECT_NE(changed->rule().hash(), made->rule().hash());
  change.mutable_rule()->clear_bind_type();
  change.mutable_rule()->clear_bind_name();
  const auto kept = call<v1::BindingRuleResponse>("ApplyRule", change);
  ASSERT_TRUE(kept.ok()) << kept.status().message();
  EXPECT_EQ(kept->rule().bind_type(), "role");
  EXPECT_EQ(kept->rule().bind_name(), "others");
  change.mutable_rule()->set_bind_type("management");
  const auto unnamed = call<v1::BindingRuleResponse>("ApplyRule", change);
  ASSERT_TRUE(unnamed.ok()) << unnamed.status().message();
  EXPECT_EQ(unnamed->rule().bind_name(), "");
  change.mutable_rule()->set_auth_method("n");
  EXPECT_EQ(call<v1::BindingRuleResponse>("ApplyRule", change).status().message(),
            "cannot update auth method for binding rule, create a new rule instead");
  change.set_id(Uuid::random().to_string());
  EXPECT_EQ(call<v1::BindingRuleResponse>("ApplyRule", change).status().message(),
            "ACL binding rule ID does not match request path");
  change.mutable_rule()->clear_id();
  EXPECT_TRUE(
      call<v1::BindingRuleResponse>("ApplyRule", change).status().message().starts_with("cannot find binding rule"));
  EXPECT_EQ(bind_to("role", "x", "", "none").status().message(), "ACL auth method none not found");
  EXPECT_EQ(bind_to("king", "x").status().message(), "binding rule 0 invalid: unsupported bind type: \"king\"");
  EXPECT_EQ(call<v1::ListBindingRulesResponse>("ListRules", v1::ListBindingRulesRequest())->rules_size(), 1);
  EXPECT_TRUE(call<v1::LoginChangedResponse>("DeleteRule", named).ok());
  EXPECT_EQ(call<v1::LoginChangedResponse>("DeleteRule", named).status(), not_found("ACL binding rule not found"));
}

}  // namespace
}  // namespace drover::login
