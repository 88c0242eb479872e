#include "server/rpc.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "drover/api/identities.pb.h"
#include "drover/api/keyring.pb.h"
#include "drover/schema.h"
#include "drover/v1/allocation.pb.h"
#include "drover/v1/job.pb.h"
#include "drover/v1/node.pb.h"
#include "identity.pb.h"
#include "sdk/testing/fake_host.h"

namespace drover::identity {
namespace {

using Json = nlohmann::json;

// Its signature is the name of the algorithm.
class FakeKeyring final : public Keyring {
 public:
  Result<Sealed> seal(const ReadView&, std::string_view, std::string_view) override { return unimplemented("not here"); }
  Result<std::string> open(std::string_view, std::string_view, std::string_view) override {
    return unimplemented("not here");
  }
  Result<std::string> sign(const ReadView&, std::string_view claims, Algorithm algorithm) override {
    DROVER_RETURN_IF_ERROR(ready);
    return std::string(algorithm == Algorithm::eddsa ? "EdDSA " : "RS256 ") + std::string(claims);
  }
  Result<std::string> verify(std::string_view) override { return unimplemented("not here"); }
  std::string public_keys(const ReadView&) override { return R"({"keys":[]})"; }
  Status is_ready(const ReadView&) override { return ready; }
  std::vector<std::string> retiring(const ReadView&) override { return {}; }

  Status ready;
};

const std::string kNode(16, 'n'), kSecret(16, 's'), kAlloc(16, 'a'), kKey(16, 'k');

class IdentityRpc : public ::testing::Test {
 protected:
  IdentityRpc() {
    nodes_ = Table<v1::Node>(host_.rows().add_table(nodes_table().spec()));
    allocs_ = Table<v1::Allocation>(host_.rows().add_table(allocs_table().spec()));
    versions_ = Table<v1::Job>(host_.rows().add_table(job_versions_table().spec()));
    keys_ = Table<v1::RootKey>(host_.rows().add_table(Table<v1::RootKey>::spec(
        "root_keys", {}, [](const v1::RootKey& key, RowKeys& out) { out.primary(key.key_id()); })));
    EXPECT_TRUE(declare_tables(host_.rows(), tables_).ok());
    EXPECT_TRUE(rpc_.declare(host_.rows()).ok());
    rpc_.start(host_, keyring_, "https://issuer.example");
    job_.set_namespace_("default");
    job_.set_id("web/dispatch-1");
    job_.set_parent_id("web");
    v1::TaskGroup& group = *job_.add_task_groups();
    group.set_name("g");
    v1::Task& task = *group.add_tasks();
    task.set_name("t");
    task.mutable_identity()->set_env(true);
    v1::Identity& vault = *task.add_identities();
    vault.set_name("vault");
    vault.set_ttl(60'000'000'000);
    alloc_.set_id(kAlloc);
    alloc_.set_node_id(kNode);
    alloc_.set_namespace_("default");
    alloc_.set_job_id(job_.id());
    alloc_.set_task_group("g");
    alloc_.set_client_status(v1::CLIENT_STATUS_RUNNING);
    v1::Node node;
    node.set_id(kNode);
    node.set_secret_id(kSecret);
    host_.commit([&](WriteTransaction& rows) {
      EXPECT_TRUE(nodes_.put(rows, node).ok());
      EXPECT_TRUE(versions_.put(rows, job_).ok());
    });
    put(10);
  }
  void put(uint64_t created) {
    alloc_.set_create_index(created);
    host_.commit([&](WriteTransaction& rows) { EXPECT_TRUE(allocs_.put(rows, alloc_).ok()); });
  }
  void put_key(const std::string& id, uint64_t created) {
    v1::RootKey key;
    key.set_key_id(id);
    key.set_create_index(created);
    host_.commit([&](WriteTransaction& rows) { EXPECT_TRUE(keys_.put(rows, key).ok()); });
  }
  static v1::SignIdentitiesRequest good() {
    v1::SignIdentitiesRequest request;
    request.set_node_id(kNode);
    request.set_secret_id(kSecret);
    request.set_alloc_id(kAlloc);
    request.set_task("t");
    request.add_identities("default");
    request.add_identities("vault");
    return request;
  }
  Result<v1::SignIdentitiesResponse> sign(const v1::SignIdentitiesRequest& request) {
    return host_.answer<v1::SignIdentitiesResponse>("/drover.v1.NodeIdentities/Sign", request);
  }

  testing::FakeHost host_;
  FakeKeyring keyring_;
  Tables tables_;
  Rpc rpc_{tables_};
  Table<v1::Node> nodes_;
  Table<v1::Allocation> allocs_;
  Table<v1::Job> versions_;
  Table<v1::RootKey> keys_;
  v1::Job job_;
  v1::Allocation alloc_;
};

TEST_F(IdentityRpc, SignsForTasksOfTheNodesOwnAllocations) {
  const auto answer = sign(good());
  ASSERT_TRUE(answer.ok()) << answer.status().message();
  ASSERT_EQ(answer->identities_size(), 2);
  const std::string& own = answer->identities(0).token();
  ASSERT_TRUE(own.starts_with("EdDSA ")) << own;
  const Json claims = Json::parse(own.substr(6));
  EXPECT_EQ(claims["nomad_job_id"], "web") << "a child is who its parent is";
  EXPECT_EQ(claims["iss"], "https://issuer.example");
  EXPECT_EQ(answer->identities(0).expires_at(), 0);
  EXPECT_TRUE(answer->identities(1).token().starts_with("RS256 "));
  EXPECT_GT(answer->identities(1).expires_at(), host_.clock().wall_ns());
  EXPECT_NE(sign(good())->identities(0).token(), own) << "each token has an identifier of its own";
}

TEST_F(IdentityRpc, RefusesEverybodyElse) {
  const auto refused = [&](auto change) {
    v1::SignIdentitiesRequest request = good();
    change(request);
    return sign(request).status();
  };
  EXPECT_EQ(refused([](auto& r) { r.set_secret_id(std::string(16, 'x')); }).code(), Code::permission_denied);
  EXPECT_EQ(refused([](auto& r) { r.set_node_id(std::string(16, 'x')); }).code(), Code::permission_denied);
  EXPECT_EQ(refused([](auto& r) { r.set_alloc_id(std::string(16, 'x')); }).code(), Code::permission_denied);
  EXPECT_EQ(refused([](auto& r) { r.set_task("u"); }).message(), "task not found");
  EXPECT_EQ(refused([](auto& r) { r.add_identities("other"); }).message(), "identity not found");
  EXPECT_EQ(refused([](auto& r) { r.mutable_identities()->Reserve(100); for (int i = 0; i < 100; ++i) r.add_identities("vault"); }).code(),
            Code::invalid_argument);
  keyring_.ready = failed_precondition("keyring has not been initialized yet");
  EXPECT_EQ(sign(good()).status(), keyring_.ready);
  keyring_.ready = ok_status();
  alloc_.set_desired_status(v1::DESIRED_STATUS_STOP);
  put(10);
  EXPECT_EQ(sign(good()).status().code(), Code::permission_denied);
}

TEST_F(IdentityRpc, SaysHowTokensAreVerified) {
  const v1::IdentityKeysRequest ask;
  EXPECT_EQ(host_.answer<v1::IdentityDocument>("/drover.v1.Identities/Keys", ask)->document(), R"({"keys":[]})");
  EXPECT_TRUE(host_.answer<v1::IdentityDocument>("/drover.v1.Identities/Discovery", ask).ok());
  rpc_.start(host_, keyring_, "");
  EXPECT_EQ(host_.answer<v1::IdentityDocument>("/drover.v1.Identities/Discovery", ask).status().message(),
            "OIDC Discovery endpoint disabled");
}

TEST_F(IdentityRpc, AKeyIsHeldForTasksThatAreOlderThanItsRetirement) {
  const SignedTokens users(tables_);
  const auto uses = [&] { return users.uses(*host_.snapshot(), kKey, 5); };
  EXPECT_EQ(uses(), 0u) << "no such key";
  put_key(kKey, 5);
  EXPECT_EQ(uses(), 1u) << "no other key has taken its place";
  const std::string next(16, 'l');
  put_key(next, 11);
  EXPECT_EQ(uses(), 1u);
  put_key(next, 10);
  EXPECT_EQ(uses(), 0u) << "the allocation came with the next key";
  put_key(next, 11);
  alloc_.set_client_status(v1::CLIENT_STATUS_COMPLETE);
  put(10);
  EXPECT_EQ(uses(), 0u);
  alloc_.set_client_status(v1::CLIENT_STATUS_RUNNING);
  put(10);
  job_.mutable_task_groups(0)->mutable_tasks(0)->mutable_identity()->set_env(false);
  host_.commit([&](WriteTransaction& rows) { EXPECT_TRUE(versions_.put(rows, job_).ok()); });
  EXPECT_EQ(uses(), 0u) << "tokens that end are renewed with another key";
}

}  // namespace
}  // namespace drover::identity
