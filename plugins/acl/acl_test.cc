// The handlers, over a state in memory, and what the resolvers make of proofs.
#include "client_resolver.h"
#include "drover/options.pb.h"
#include "drover/sha256.h"
#include "testing/acl_world.h"

namespace drover::acl {
namespace {

using namespace std::chrono_literals;

// Names that there are not are passed over; a login without any right is none.
TEST_F(Acl, MakesTokensOfLoginsWithTheRightsThatThereAre) {
  ASSERT_TRUE(policy("deploy", R"(namespace "default" { policy = "write" })").ok());
  v1::ApplyAclRoleRequest role;
  role.mutable_role()->set_name("ops");
  role.mutable_role()->add_policies()->set_name("deploy");
  ASSERT_TRUE(call<v1::AclRoleResponse>("ApplyRole", role).ok());
  v1::CreateLoginTokenRequest request;
  request.set_name("OIDC-company");
  request.set_ttl(std::chrono::nanoseconds(1h).count());
  for (const char* name : {"deploy", "none", "deploy"}) request.add_policies(name);
  for (const char* name : {"ops", "none"}) request.add_roles(name);
  const auto made = call<v1::AclTokenResponse>("CreateLoginToken", request);
  ASSERT_TRUE(made.ok()) << made.status().message();
  EXPECT_EQ(made->token().name(), "OIDC-company");
  ASSERT_EQ(made->token().policies_size(), 1);
  ASSERT_EQ(made->token().roles_size(), 1);
  EXPECT_EQ(made->token().roles(0).name(), "ops");
  EXPECT_EQ(made->token().expiration_time() - made->token().create_time(), request.ttl());
  EXPECT_TRUE(resolve(text(made->token().secret_id()))->permissions->may(Access::SUBMIT_JOB, "default"));
  request.set_management(true);
  const auto root = call<v1::AclTokenResponse>("CreateLoginToken", request);
  ASSERT_TRUE(root.ok()) << root.status().message();
  EXPECT_EQ(root->token().policies_size() + root->token().roles_size(), 0);
  EXPECT_TRUE(resolve(text(root->token().secret_id()))->permissions->is_management());
  request.Clear();
  request.add_policies("none");
  request.set_ttl(std::chrono::nanoseconds(1h).count());
  EXPECT_EQ(call<v1::AclTokenResponse>("CreateLoginToken", request).status(),
            invalid_argument("no role or policy bindings matched"));
  request.set_policies(0, "deploy");
  request.set_ttl(1);
  EXPECT_FALSE(call<v1::AclTokenResponse>("CreateLoginToken", request).ok());
}

TEST_F(Acl, IsBootstrappedOnce) {
  v1::BootstrapAclRequest request;
  request.set_bootstrap_secret("not a secret");
  EXPECT_EQ(call<v1::AclTokenResponse>("Bootstrap", request).status().message(), "invalid acl token");
  request.set_bootstrap_secret("2b778dd9-f5f1-6f29-b4b4-9a5fa948757a");
  const auto made = call<v1::AclTokenResponse>("Bootstrap", request);
  ASSERT_TRUE(made.ok()) << made.status().message();
  EXPECT_EQ(made->token().type(), "management");
  EXPECT_EQ(text(made->token().secret_id()), request.bootstrap_secret());
  EXPECT_NE(call<v1::AclTokenResponse>("Bootstrap", request).status().message().find("ACL bootstrap already done"),
            std::string::npos);
  const auto caller = resolve(request.bootstrap_secret());
  ASSERT_TRUE(caller.ok());
  EXPECT_EQ(caller->kind, Identity::Kind::management);
  EXPECT_TRUE(caller->permissions->is_management());
}

TEST_F(Acl, ATokenHasWhatItsPoliciesGrantAndLosesItAtOnce) {
  ASSERT_TRUE(policy("read", "namespace \"default\" { policy = \"read\" }").ok());
  const auto made = token_with("read");
  ASSERT_TRUE(made.ok()) << made.status().message();
  const std::string secret = text(made->token().secret_id());
  auto caller = resolve(secret);
  ASSERT_TRUE(caller.ok());
  EXPECT_TRUE(caller->permissions->may(Access::READ_JOB, "default"));
  EXPECT_FALSE(caller->permissions->may(Access::SUBMIT_JOB, "default"));
  ASSERT_TRUE(policy("read", "namespace \"default\" { policy = \"write\" }").ok());
  EXPECT_TRUE(resolve(secret)->permissions->may(Access::SUBMIT_JOB, "default"));
  v1::AclNameRequest gone;
  gone.set_name("read");
  ASSERT_TRUE(call<v1::AclChangedResponse>("DeletePolicy", gone).ok());
  EXPECT_FALSE(resolve(secret)->permissions->may(Access::READ_JOB, "default"));
  v1::AclTokenRequest its;
  its.set_accessor_id(text(made->token().accessor_id()));
  ASSERT_TRUE(call<v1::AclChangedResponse>("DeleteToken", its).ok());
  EXPECT_EQ(resolve(secret).status().code(), Code::permission_denied);
}

TEST_F(Acl, ATokenEnds) {
  ASSERT_TRUE(policy("read", "").ok());
  const auto made = token([](v1::AclToken& t) {
    t.add_policies("read");
    t.set_expiration_ttl(std::chrono::nanoseconds(1h).count());
  });
  ASSERT_TRUE(made.ok()) << made.status().message();
  const std::string secret = text(made->token().secret_id());
  EXPECT_TRUE(resolve(secret).ok());
  host_.forward_clock().advance(2h);
  EXPECT_EQ(resolve(secret).status().code(), Code::permission_denied);
}

TEST_F(Acl, RolesAreNamedAndFollowed) {
  ASSERT_TRUE(policy("ops", "node { policy = \"write\" }").ok());
  v1::ApplyAclRoleRequest request;
  request.mutable_role()->set_name("operators");
  EXPECT_EQ(call<v1::AclRoleResponse>("ApplyRole", request).status().message(),
            "role 0 invalid: at least one policy should be specified");
  request.mutable_role()->add_policies()->set_name("nobody's");
  EXPECT_EQ(call<v1::AclRoleResponse>("ApplyRole", request).status().message(), "cannot find policy nobody's");
  request.mutable_role()->mutable_policies(0)->set_name("ops");
  const auto role = call<v1::AclRoleResponse>("ApplyRole", request);
  ASSERT_TRUE(role.ok()) << role.status().message();
  EXPECT_EQ(call<v1::AclRoleResponse>("ApplyRole", request).status().message(),
            "role with name operators already exists");
  const auto made = token([](v1::AclToken& t) { t.add_roles()->set_name("operators"); });
  ASSERT_TRUE(made.ok()) << made.status().message();
  EXPECT_EQ(made->token().roles(0).id(), role->role().id());
  EXPECT_EQ(made->token().roles(0).name(), "operators");
  EXPECT_EQ(resolve(text(made->token().secret_id()))->permissions->granted(Area::node), Grant::write);
  v1::AclRoleRequest its;
  its.set_id(text(role->role().id()));
  ASSERT_TRUE(call<v1::AclChangedResponse>("DeleteRole", its).ok());
  EXPECT_EQ(resolve(text(made->token().secret_id()))->permissions->granted(Area::node), Grant::none);
}

TEST_F(Acl, RefusesTokensThatCannotBe) {
  const struct {
    std::function<void(v1::AclToken&)> fill;
    const char* problem;
  } cases[] = {
      {[](v1::AclToken&) {}, "client token missing policies or roles"},
      {[](v1::AclToken& t) { t.set_type("management"), t.add_policies("x"); },
       "management token cannot be associated with policies or roles"},
      {[](v1::AclToken& t) { t.set_type("other"); }, "token type must be client or management"},
      {[](v1::AclToken& t) { t.set_type("management"), t.set_name(std::string(257, 'x')); }, "token name too long"},
      {[](v1::AclToken& t) { t.set_type("management"), t.set_expiration_ttl(-1); }, "should not be negative"},
      {[](v1::AclToken& t) { t.set_type("management"), t.set_expiration_ttl(std::chrono::nanoseconds(1s).count()); },
       "expiration time cannot be less than 1m0s in the future (was 1s)"},
      {[](v1::AclToken& t) { t.set_type("management"), t.set_expiration_ttl(std::chrono::nanoseconds(25h).count()); },
       "expiration time cannot be more than 24h0m0s in the future (was 25h0m0s)"},
      {[](v1::AclToken& t) { t.add_roles()->set_name("none"); }, "cannot find role none"},
      {[](v1::AclToken& t) { t.set_accessor_id(std::string(16, 'a')), t.add_policies("x"); }, "cannot find token 61"},
  };
  for (const auto& c : cases) {
    const auto made = token(c.fill);
    EXPECT_EQ(made.status().code(), Code::invalid_argument) << c.problem;
    EXPECT_NE(made.status().message().find(c.problem), std::string::npos) << made.status().message();
  }
}

TEST_F(Acl, ATokenKeepsWhatItIs) {
  auto made = token_with("a");
  ASSERT_TRUE(made.ok());
  const v1::AclToken before = made->token();
  const auto changed = token([&](v1::AclToken& t) {
    t = before;
    t.set_secret_id(std::string(16, 'x'));
    t.set_name("new");
  });
  ASSERT_TRUE(changed.ok()) << changed.status().message();
  EXPECT_EQ(changed->token().secret_id(), before.secret_id());
  EXPECT_EQ(changed->token().create_index(), before.create_index());
  EXPECT_TRUE(resolve(text(before.secret_id())).ok());
  EXPECT_NE(token([&](v1::AclToken& t) { t = before, t.set_global(true); }).status().message().find("toggle global"),
            std::string::npos);
}

TEST_F(Acl, AnonymousCallersHaveTheirPolicy) {
  EXPECT_FALSE(resolve("")->permissions->may(Access::LIST_JOBS, "default"));
  ASSERT_TRUE(policy("anonymous", "namespace \"default\" { policy = \"read\" }").ok());
  EXPECT_TRUE(resolve("")->permissions->may(Access::LIST_JOBS, "default"));
  EXPECT_EQ(resolve("")->kind, Identity::Kind::anonymous);
}

TEST_F(Acl, ANodeIsKnownByItsSecretAndHasNoPermissions) {
  const Uuid id = Uuid::random(), secret = Uuid::random();
  host_.commit([&](WriteTransaction& rows) {
    v1::Node node;
    node.set_id(id.bytes());
    node.set_secret_id(secret.bytes());
    EXPECT_TRUE(nodes_.put(rows, node).ok());
  });
  const auto caller = resolve("", secret.to_string());
  ASSERT_TRUE(caller.ok());
  EXPECT_EQ(caller->kind, Identity::Kind::client);
  EXPECT_EQ(caller->name, id.to_string());
  EXPECT_EQ(caller->permissions, nullptr);
  for (const char* wrong : {"", "x", "00000000-0000-0000-0000-000000000000", "2b778dd9-f5f1-6f29-b4b4-9a5fa948757a"}) {
    if (*wrong != '\0') {
      EXPECT_EQ(resolve(wrong).status().code(), Code::permission_denied) << wrong;
    }
  }
  EXPECT_EQ(resolve("", Uuid::random().to_string()).status().code(), Code::permission_denied);
}

TEST_F(Acl, ANodeThatTakesIdentitiesIsKnownByTheLatestAndForAMomentByTheFormer) {
  const Uuid id = Uuid::random(), secret = Uuid::random();
  const int64_t now = host_.clock().wall_ns(), minute = 60'000'000'000;
  host_.commit([&](WriteTransaction& rows) {
    v1::Node node;
    node.set_id(id.bytes());
    node.set_secret_id(secret.bytes());
    node.mutable_identity()->set_digest(sha256("h.latest.s"));
    node.mutable_identity()->set_expires_at(now + 60 * minute);
    node.mutable_identity()->set_former_digest(sha256("h.former.s"));
    node.mutable_identity()->set_former_ends_at(now + minute);
    EXPECT_TRUE(nodes_.put(rows, node).ok());
  });
  for (const char* good : {"h.latest.s", "h.former.s"}) {
    SCOPED_TRACE(good);
    EXPECT_EQ(resolve("", good)->name, id.to_string());
    EXPECT_EQ(resolve(good)->kind, Identity::Kind::client) << "as a token";
  }
  for (const std::string& wrong : {secret.to_string(), std::string("h.guess.s"), std::string("h.latest.s ")}) {
    SCOPED_TRACE(wrong);
    EXPECT_EQ(resolve("", wrong).status().code(), Code::permission_denied);
    EXPECT_EQ(resolve(wrong).status().code(), Code::permission_denied);
  }
  host_.forward_clock().advance(std::chrono::minutes(2));
  EXPECT_EQ(resolve("", "h.former.s").status().code(), Code::permission_denied);
  EXPECT_TRUE(resolve("", "h.latest.s").ok());
  host_.forward_clock().advance(std::chrono::minutes(60));
  EXPECT_EQ(resolve("", "h.latest.s").status().code(), Code::permission_denied);
}

TEST_F(Acl, OthersSeeTheirOwnOnly) {
  ASSERT_TRUE(policy("mine", "").ok());
  ASSERT_TRUE(policy("others", "").ok());
  const auto made = token_with("mine");
  host_.call_as(*resolve(text(made->token().secret_id())));
  const auto list = call<v1::ListAclPoliciesResponse>("ListPolicies", v1::ListAclPoliciesRequest());
  ASSERT_TRUE(list.ok());
  ASSERT_EQ(list->policies_size(), 1);
  EXPECT_EQ(list->policies(0).name(), "mine");
  v1::AclNameRequest others;
  others.set_name("others");
  EXPECT_EQ(call<v1::AclPolicyResponse>("GetPolicy", others).status().code(), Code::permission_denied);
  v1::AclTokenRequest its;
  its.set_accessor_id(text(made->token().accessor_id()));
  EXPECT_TRUE(call<v1::AclTokenResponse>("GetToken", its).ok());
  its.set_accessor_id(Uuid::random().to_string());
  EXPECT_EQ(call<v1::AclTokenResponse>("GetToken", its).status().code(), Code::permission_denied);
}

TEST_F(Acl, AOneTimeSecretWorksOnceAndForTenMinutes) {
  const auto made = token_with("a");
  host_.call_as(*resolve(text(made->token().secret_id())));
  auto once = call<v1::OneTimeTokenResponse>("MakeOneTimeToken", v1::OwnAclTokenRequest());
  ASSERT_TRUE(once.ok()) << once.status().message();
  v1::ExchangeOneTimeTokenRequest request;
  request.set_one_time_secret_id(once->one_time_token().one_time_secret_id());
  const auto got = call<v1::ExchangeOneTimeTokenResponse>("ExchangeOneTimeToken", request);
  ASSERT_TRUE(got.ok()) << got.status().message();
  EXPECT_EQ(got->token().secret_id(), made->token().secret_id());
  EXPECT_EQ(call<v1::ExchangeOneTimeTokenResponse>("ExchangeOneTimeToken", request).status().code(),
            Code::permission_denied);
  once = call<v1::OneTimeTokenResponse>("MakeOneTimeToken", v1::OwnAclTokenRequest());
  request.set_one_time_secret_id(once->one_time_token().one_time_secret_id());
  host_.forward_clock().advance(11min);
  EXPECT_EQ(call<v1::ExchangeOneTimeTokenResponse>("ExchangeOneTimeToken", request).status().code(),
            Code::permission_denied);
}

TEST_F(Acl, NeitherTheLogNorTheStateTellsASecret) {
  const auto made = token_with("a");
  ASSERT_TRUE(made.ok()) << made.status().message();
  const std::string secret = made->token().secret_id();
  ASSERT_EQ(secret.size(), 16U);
  ASSERT_EQ(rows().size(), 1U);
  EXPECT_EQ(serialize(rows()[0]).find(secret), std::string::npos);
  host_.call_as(*resolve(text(secret)));
  const auto once = call<v1::OneTimeTokenResponse>("MakeOneTimeToken", v1::OwnAclTokenRequest());
  ASSERT_TRUE(once.ok());
  for (const auto& row : tables_.one_time_tokens.list(*host_.snapshot(), kPrimary, KeyRange::all()))
    EXPECT_EQ(serialize(row).find(once->one_time_token().one_time_secret_id()), std::string::npos);
  const auto own = call<v1::AclTokenResponse>("GetOwnToken", v1::OwnAclTokenRequest());
  ASSERT_TRUE(own.ok()) << own.status().message();
  EXPECT_EQ(own->token().secret_id(), secret);
  EXPECT_TRUE(own->token().sealed_secret().empty());
}

TEST_F(Acl, TokensNeedAKeyThatSealsThem) {
  const std::string active = std::exchange(keyring_.sealing.active, "");
  EXPECT_EQ(token_with("a").status(), failed_precondition("keyring has not been initialized yet"));
  keyring_.sealing.active = std::string(16, 'X');  // which the state does not have
  EXPECT_EQ(token_with("a").status(), aborted("the root key was replaced meanwhile; try again"));
  keyring_.sealing.active = active;
  EXPECT_TRUE(token_with("a").ok());
}

TEST_F(Acl, SecretsAreSealedAnewWhenTheirKeyIsToGo) {
  const auto made = token_with("a");
  const std::string former = keyring_.sealing.active, next(16, 'B');
  EXPECT_EQ(Uses(tables_).uses(*host_.snapshot(), former, 10), 1U);
  EXPECT_FALSE(secrets_.next_resealed(*host_.snapshot(), tables_).has_value());
  put_root_key(next, v1::ROOT_KEY_STATE_ACTIVE);
  put_root_key(former, v1::ROOT_KEY_STATE_REKEYING);
  keyring_.sealing.active = next;
  keyring_.sealing.old = {former};
  const auto command = secrets_.next_resealed(*host_.snapshot(), tables_);
  ASSERT_TRUE(command.has_value());
  ASSERT_TRUE(host_.propose(*command, SteadyTime::max()).ok());
  EXPECT_EQ(Uses(tables_).uses(*host_.snapshot(), former, 10), 0U);
  EXPECT_EQ(Uses(tables_).uses(*host_.snapshot(), next, 10), 1U);
  EXPECT_TRUE(resolve(text(made->token().secret_id())).ok());
  v1::AclTokenRequest its;
  its.set_accessor_id(text(made->token().accessor_id()));
  EXPECT_EQ(call<v1::AclTokenResponse>("GetToken", its)->token().secret_id(), made->token().secret_id());
}

// As versions before the keyring sealed them have left them.
TEST_F(Acl, ATokenWhoseRowHasItsSecretIsGoodToo) {
  v1::AclToken row;
  row.set_accessor_id(std::string(16, 'a'));
  row.set_secret_id(std::string(16, 's'));
  row.set_type("management");
  host_.commit([&](WriteTransaction& rows) { EXPECT_TRUE(tables_.tokens.put(rows, row).ok()); });
  EXPECT_TRUE(resolve(text(row.secret_id()))->permissions->is_management());
}

TEST_F(Acl, SaysWhenItIsOff) {
  rpc_.start(host_, {});
  EXPECT_EQ(call<v1::ListAclPoliciesResponse>("ListPolicies", v1::ListAclPoliciesRequest()).status().message(),
            "ACL support disabled");
}

TEST_F(Acl, ANodeAgentHearsWhoCalls) {
  ASSERT_TRUE(policy("read", "namespace \"default\" { policy = \"read\" }").ok());
  const auto made = token_with("read");
  host_.call_as(*resolve(text(made->token().secret_id())));
  const auto answer = call<v1::WhoAmIResponse>("WhoAmI", v1::WhoAmIRequest());
  ASSERT_TRUE(answer.ok());
  const auto resolved = resolved_from(*answer);
  ASSERT_TRUE(resolved.ok());
  EXPECT_EQ(resolved->identity.kind, Identity::Kind::token);
  EXPECT_TRUE(resolved->identity.permissions->may(Access::READ_JOB, "default"));
  EXPECT_FALSE(resolved->identity.permissions->may(Access::SUBMIT_JOB, "default"));
}

TEST(Recent, ForgetsWhatNobodyAskedFor) {
  Recent<int> recent(2);
  recent.put("a", 1);
  recent.put("b", 2);
  ASSERT_NE(recent.find("a"), nullptr);
  recent.put("c", 3);
  EXPECT_EQ(recent.find("b"), nullptr);
  EXPECT_EQ(*recent.find("a"), 1);
  recent.erase("a");
  EXPECT_EQ(recent.find("a"), nullptr);
}

TEST_F(Acl, AnUpdateThatComesAfterTheDeletionBringsNoTokenBack) {
  ASSERT_TRUE(policy("read", "namespace \"default\" { policy = \"read\" }").ok());
  const auto made = token_with("read");
  ASSERT_TRUE(made.ok());
  v1::AclTokenApplied update;
  *update.mutable_token() = made->token();
  v1::AclTokensDeleted deletion;
  deletion.add_accessor_ids(made->token().accessor_id());
  ASSERT_TRUE(host_.propose(deletion, SteadyTime::max()).ok());
  EXPECT_EQ(host_.propose(update, SteadyTime::max()).status().message(), "ACL token not found");
  EXPECT_FALSE(resolve(text(made->token().secret_id())).ok());
}

TEST_F(Acl, ANodeThatIsGoneIsNobodyAtOnce) {
  const std::string secret(16, 's');
  v1::Node node;
  node.set_id(std::string(16, 'n'));
  node.set_secret_id(secret);
  host_.commit([&](WriteTransaction& rows) { EXPECT_TRUE(nodes_.put(rows, node).ok()); });
  EXPECT_EQ(resolve(text(secret))->kind, Identity::Kind::client) << "a secret may be shown as a token";
  host_.commit([&](WriteTransaction& rows) { nodes_.erase(rows, node.id()); });
  EXPECT_FALSE(resolve(text(secret)).ok());
}

}  // namespace
}  // namespace drover::acl
