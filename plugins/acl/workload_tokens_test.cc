// The tokens of tasks, as the resolver knows them.
#include "workload_tokens.h"

#include "client_resolver.h"
#include "drover/options.pb.h"
#include "testing/acl_world.h"

namespace drover::acl {
namespace {

using namespace std::chrono_literals;

class Tasks : public Acl {
 protected:
  Tasks() {
    put_job("web", "");
    put_alloc(v1::CLIENT_STATUS_RUNNING);
    host_.commit([&](WriteTransaction& rows) {
      v1::RootKey key;
      key.set_key_id(kKey.bytes());
      EXPECT_TRUE(root_keys_.put(rows, key).ok());
    });
  }
  void put_job(const std::string& id, const std::string& parent) {
    host_.commit([&](WriteTransaction& rows) {
      v1::Job job;
      job.set_namespace_("default");
      job.set_id(id);
      job.set_parent_id(parent);
      EXPECT_TRUE(jobs_.put(rows, job).ok());
    });
  }
  void put_alloc(v1::ClientStatus status, const std::string& job = "web") {
    host_.commit([&](WriteTransaction& rows) {
      v1::Allocation alloc;
      alloc.set_id(kAlloc.bytes());
      alloc.set_namespace_("default");
      alloc.set_job_id(job);
      alloc.set_task_group("g");
      alloc.set_client_status(status);
      EXPECT_TRUE(allocs_.put(rows, alloc).ok());
    });
  }
  std::string token(const std::string& further = R"(,"aud":"nomadproject.io")") const {
    return signed_claims(R"({"nomad_allocation_id":")" + kAlloc.to_string() + R"(","nomad_task":"t")" + further + "}");
  }
  std::string seconds(std::chrono::seconds from_now) {
    return std::to_string(host_.clock().wall_ns() / 1'000'000'000 + from_now.count());
  }
  void job_policy(const std::string& name, const std::string& rules, const std::function<void(v1::JobAcl&)>& to) {
    v1::ApplyAclPolicyRequest request;
    request.set_name(name);
    request.mutable_policy()->set_rules(rules);
    request.mutable_policy()->mutable_job_acl()->set_namespace_("default");
    to(*request.mutable_policy()->mutable_job_acl());
    EXPECT_TRUE(call<v1::AclChangedResponse>("ApplyPolicy", request).ok());
  }
  bool may_submit(const std::string& shown) {
    const auto caller = resolve(shown);
    return caller.ok() && caller->permissions->may(Access::SUBMIT_JOB, "default");
  }
  bool may_read(const std::string& path) {
    const auto caller = resolve(token());
    return caller.ok() && caller->permissions->may_variable("default", path, Access::VARIABLE_READ);
  }
  const Uuid kAlloc = *Uuid::parse("a0000000-0000-0000-0000-000000000000");
};

TEST_F(Tasks, AreWhoTheirAllocationIs) {
  const auto caller = resolve(token());
  ASSERT_TRUE(caller.ok()) << caller.status().message();
  EXPECT_EQ(caller->kind, Identity::Kind::workload);
  EXPECT_EQ(caller->name, kAlloc.to_string());
  EXPECT_TRUE(may_read("nomad/jobs/web/g/t"));
  EXPECT_FALSE(may_read("nomad/jobs/web/g/u"));
  EXPECT_FALSE(may_submit(token())) << "an identity alone grants nothing more";
  EXPECT_EQ(keyring_.verified, 1) << "a signature is looked at once";
}

TEST_F(Tasks, ChildrenAreTheirParents) {
  put_job("web/dispatch-1", "web");
  put_alloc(v1::CLIENT_STATUS_RUNNING, "web/dispatch-1");
  EXPECT_TRUE(may_read("nomad/jobs/web"));
}

TEST_F(Tasks, AreNobodyWhenTheirTokenIsNotGood) {
  const struct {
    const char* what;
    std::string token;
  } cases[] = {{"another signature", "forged" + token()},
               {"another audience", token(R"(,"aud":"vault.io")")},
               {"no audience", token("")},
               {"no audience in the list", token(R"(,"aud":["a",1])")},
               {"ended", token(R"(,"aud":"nomadproject.io","exp":)" + seconds(-1s))},
               {"not valid yet", token(R"(,"aud":"nomadproject.io","nbf":)" + seconds(60s))},
               {"no task", signed_claims(R"({"nomad_allocation_id":")" + kAlloc.to_string() + R"(","aud":"nomadproject.io"})")},
               {"no allocation", signed_claims(R"({"nomad_task":"t","aud":"nomadproject.io"})")},
               {"too long", token() + std::string(20'000, ' ')},
               {"no token", "a.b.c"}};
  for (const auto& c : cases) EXPECT_EQ(resolve(c.token).status().code(), Code::permission_denied) << c.what;
  EXPECT_TRUE(resolve(token(R"(,"aud":["a","nomadproject.io"],"exp":)" + seconds(60s))).ok());
}

TEST_F(Tasks, AreNobodyOnceTheirAllocationHasEnded) {
  EXPECT_TRUE(resolve(token()).ok());
  put_alloc(v1::CLIENT_STATUS_COMPLETE);
  EXPECT_FALSE(resolve(token()).ok());
  host_.commit([&](WriteTransaction& rows) { allocs_.erase(rows, kAlloc.bytes()); });
  EXPECT_FALSE(resolve(token()).ok());
}

TEST_F(Tasks, AreNobodyOnceTheKeyOfTheirTokenIsRemoved) {
  EXPECT_TRUE(resolve(token()).ok());
  host_.commit([&](WriteTransaction& rows) { root_keys_.erase(rows, kKey.bytes()); });
  EXPECT_FALSE(resolve(token()).ok());
}

TEST_F(Tasks, HaveThePoliciesThatNameThem) {
  const std::string rules = R"(namespace "default" { policy = "write" })";
  const struct {
    const char *job, *group, *task;
    bool may;
  } cases[] = {{"", "", "", true},        {"web", "", "", true},     {"web", "g", "", true},   {"web", "g", "t", true},
               {"web", "g", "u", false}, {"web", "h", "", false},   {"we", "", "", false},     {"web2", "", "", false},
               {"web-admin", "", "", false}};
  for (const auto& c : cases) {
    job_policy("p", rules, [&](v1::JobAcl& to) {
      to.set_job_id(c.job);
      to.set_group(c.group);
      to.set_task(c.task);
    });
    EXPECT_EQ(may_submit(token()), c.may) << c.job << "/" << c.group << "/" << c.task;
  }
}

TEST_F(Tasks, LearnWhoTheyAre) {
  job_policy("p", R"(namespace "default" { policy = "write" })", [](v1::JobAcl& to) { to.set_job_id("web"); });
  QueryOptions query;
  query.token = token();
  const auto said = host_.answer<v1::WhoAmIResponse>("/drover.v1.Acl/WhoAmI", v1::WhoAmIRequest(), query);
  ASSERT_TRUE(said.ok()) << said.status().message();
  EXPECT_EQ(said->kind(), v1::WhoAmIResponse::WORKLOAD);
  EXPECT_FALSE(said->management());
  const auto resolved = resolved_from(*said);  // as on a client agent
  ASSERT_TRUE(resolved.ok());
  EXPECT_EQ(resolved->identity.kind, Identity::Kind::workload);
  EXPECT_TRUE(resolved->identity.permissions->may(Access::SUBMIT_JOB, "default"));
  EXPECT_TRUE(resolved->identity.permissions->may_variable("default", "nomad/jobs/web", Access::VARIABLE_READ));
}

TEST_F(Tasks, AreKnownWithoutAccessControl) {
  rpc_.start(host_, {.is_enabled = false});
  resolver_.start(host_, /*is_enabled=*/false);
  QueryOptions query;
  query.token = token();
  const auto said = host_.answer<v1::WhoAmIResponse>("/drover.v1.Acl/WhoAmI", v1::WhoAmIRequest(), query);
  ASSERT_TRUE(said.ok()) << said.status().message();
  EXPECT_TRUE(said->management());
  query.token = "a.b.c";
  EXPECT_EQ(host_.answer<v1::WhoAmIResponse>("/drover.v1.Acl/WhoAmI", v1::WhoAmIRequest(), query).status().code(),
            Code::permission_denied);
  query.token = kAlloc.to_string();
  EXPECT_EQ(host_.answer<v1::WhoAmIResponse>("/drover.v1.Acl/WhoAmI", v1::WhoAmIRequest(), query).status().message(),
            "ACL support disabled");
}

}  // namespace
}  // namespace drover::acl
