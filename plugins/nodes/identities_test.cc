// Identities of nodes and their introductions: when the servers give one, what proves a node, and who may come in.
#include "identities.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "drover/api/nodes.pb.h"
#include "drover/json.h"
#include "drover/model/node.h"
#include "drover/schema.h"
#include "drover/sha256.h"
#include "drover/uuid.h"
#include "drover/v1/node_pool.pb.h"
#include "drover/v1/node_service.pb.h"
#include "registry.h"
#include "rpc.h"
#include "sdk/testing/fake_host.h"
#include "sdk/testing/fake_keyring.h"
#include "tables.h"

namespace drover::nodes {
namespace {

const std::string kNode = "0123456789abcdef";
const std::string kSecret = "fedcba9876543210";
constexpr int64_t kSecond = 1'000'000'000;
constexpr int64_t kHour = 3600 * kSecond;

v1::Node this_node() {
  v1::Node node;
  node.set_id(kNode);
  node.set_secret_id(kSecret);
  node.set_name("one");
  node.set_datacenter("dc1");
  node.set_node_class("large");
  node.set_node_pool("gpu");
  return node;
}
// Given at 0, for three hours.
v1::Node with_identity(const std::string& token) {
  v1::Node node = this_node();
  *node.mutable_identity() = with_token(node, "", token, 0, 3 * kHour);
  return node;
}

TEST(NodeProof, IsTheSecretOnlyOfANodeWithoutIdentities) {
  EXPECT_TRUE(is_proof_of(this_node(), kSecret, 0));
  EXPECT_FALSE(is_proof_of(this_node(), "another", 0));
  EXPECT_FALSE(is_proof_of(with_identity("token"), kSecret, 0));
  EXPECT_TRUE(is_proof_of(with_identity("token"), "token", 0));
  EXPECT_FALSE(is_proof_of(with_identity("token"), "", 0));
}

TEST(NodeProof, TheFormerIdentityCountsForAMomentOnly) {
  v1::Node node = with_identity("first");
  *node.mutable_identity() = with_token(node, "first", "second", 2 * kHour, 3 * kHour);
  const struct {
    const char* name;
    const char* token;
    int64_t now;
    bool is_good;
  } cases[] = {
      {"the former, at once", "first", 2 * kHour, true},
      {"the former, before its moment ends", "first", 2 * kHour + 59 * kSecond, true},
      {"the former, after that", "first", 2 * kHour + 60 * kSecond, false},
      {"the new one", "second", 2 * kHour, true},
      {"the new one, at its end", "second", 5 * kHour - 1, true},
      {"the new one, ended", "second", 5 * kHour, false},
  };
  for (const auto& c : cases) {
    SCOPED_TRACE(c.name);
    EXPECT_EQ(is_proof_of(node, c.token, c.now), c.is_good);
  }
  // An answer was lost: the node goes on with the first one, whose time does not grow.
  *node.mutable_identity() = with_token(node, "first", "third", 2 * kHour + 30 * kSecond, 3 * kHour);
  EXPECT_TRUE(is_proof_of(node, "first", 2 * kHour + 59 * kSecond));
  EXPECT_FALSE(is_proof_of(node, "first", 2 * kHour + 60 * kSecond));
  EXPECT_FALSE(is_proof_of(node, "second", 2 * kHour + 31 * kSecond));
  EXPECT_TRUE(is_proof_of(node, "third", 2 * kHour + 31 * kSecond));
}

TEST(NodeIdentities, WhatWasNoProofIsNoFormerIdentity) {
  const v1::Node node = with_identity("first");
  EXPECT_EQ(with_token(node, "guess", "second", kHour, kHour).former_digest(), "");
  EXPECT_EQ(with_token(node, "first", "second", 4 * kHour, kHour).former_digest(), "") << "it had ended";
  EXPECT_EQ(with_token(this_node(), kSecret, "first", 0, kHour).former_digest(), "") << "it was the secret";
  EXPECT_EQ(with_token(node, "first", "second", 3 * kHour - kSecond, kHour).former_ends_at(), 3 * kHour);
}

TEST(NodeIdentities, AreRenewedInTheirLastThirdAndWhenTheirClaimsChange) {
  const v1::Node known = with_identity("token");
  v1::Node other_class = known, other_pool = known, other_datacenter = known, other_name = known;
  other_class.set_node_class("small");
  other_pool.set_node_pool("cpu");
  other_datacenter.set_datacenter("dc2");
  other_name.set_name("two");
  const struct {
    const char* name;
    const v1::Node& known;
    const v1::Node& next;
    const char* shown;
    bool asks;
    int64_t now;
    bool needs;
  } cases[] = {
      {"it has one", known, known, "token", false, 2 * kHour - 1, false},
      {"the last third", known, known, "token", false, 2 * kHour, true},
      {"it asks", known, known, "token", true, 1, true},
      {"it never had one", this_node(), this_node(), "", false, 1, true},
      {"it lost it", known, known, "", false, 1, true},
      {"it has another one", known, known, "other", false, 1, true},
      {"another class", known, other_class, "token", false, 1, true},
      {"another pool", known, other_pool, "token", false, 1, true},
      {"another datacenter", known, other_datacenter, "token", false, 1, true},
      {"another name, which is no claim", known, other_name, "token", false, 1, false},
  };
  for (const auto& c : cases) {
    SCOPED_TRACE(c.name);
    EXPECT_EQ(needs_identity(c.known, c.next, c.shown, c.asks, c.now), c.needs);
  }
}

TEST(NodeIdentities, SayWhichNodeItIs) {
  const v1::Node node = this_node();
  const auto claims = nlohmann::json::parse(claims_of(
      NodeClaims{.node = node, .region = "global", .token_id = "t", .now_ns = 100 * kSecond + 5, .ttl_ns = kHour}));
  const std::string id = Uuid::from_bytes(kNode).to_string();
  EXPECT_EQ(claims, (nlohmann::json{{"nomad_node_id", id},
                                    {"nomad_node_pool", "gpu"},
                                    {"nomad_node_class", "large"},
                                    {"nomad_node_datacenter", "dc1"},
                                    {"sub", "node:global:gpu:" + id + ":default"},
                                    {"aud", "nomadproject.io"},
                                    {"jti", "t"},
                                    {"iat", 100},
                                    {"nbf", 100},
                                    {"exp", 3700}}));
}

TEST(Introduction, IsForANodeOfThatPoolAndName) {
  const auto claims = [](const std::string& name, const std::string& pool) {
    return claims_of(IntroductionClaims{
        .name = name, .pool = pool, .region = "r", .token_id = "t", .now_ns = 100 * kSecond, .ttl_ns = 60 * kSecond});
  };
  const v1::Node node = this_node();
  const std::string identity =
      claims_of(NodeClaims{.node = node, .region = "r", .token_id = "t", .now_ns = 0, .ttl_ns = kHour});
  const struct {
    const char* name;
    std::string claims;
    int64_t now;
    const char* error;
  } cases[] = {
      {"its own", claims("one", "gpu"), 100 * kSecond, ""},
      {"any of the pool", claims("", "gpu"), 159 * kSecond, ""},
      {"a server's clock is behind", claims("one", "gpu"), 96 * kSecond, ""},
      {"too early", claims("one", "gpu"), 90 * kSecond, "it is not valid yet"},
      {"too late", claims("one", "gpu"), 160 * kSecond, "it has ended"},
      {"another pool", claims("one", "cpu"), 100 * kSecond,
       "it is for the node pool \"cpu\", and the node is in \"gpu\""},
      {"another name", claims("two", "gpu"), 100 * kSecond, "it is for the node \"two\", and this one is \"one\""},
      {"the identity of a node", identity, 1, "it is a token of another kind"},
      {"no claims", "[]", 1, "it is a token of another kind"},
      {"no JSON", "{", 1, "it is a token of another kind"},
  };
  for (const auto& c : cases) {
    SCOPED_TRACE(c.name);
    const Status status = check_introduction(c.claims, node, c.now);
    const std::string error = std::string("introduction token refused: ") + c.error;
    EXPECT_EQ(status, *c.error ? permission_denied(error) : ok_status());
  }
}

// The handlers, with a keyring, at a leader that gives identities.
class NodeIdentityCalls : public ::testing::Test {
 protected:
  NodeIdentityCalls() {
    for (const auto& spec : {allocs_table().spec(), jobs_table().spec(), job_versions_table().spec()})
      host_.rows().add_table(spec);
    pools_ = Table<v1::NodePool>(host_.rows().add_table(node_pools_table().spec()));
    EXPECT_TRUE(host_.rows().extend<Keyring>("keyring", keyring_).ok());
    EXPECT_TRUE(declare_tables(host_.rows(), nodes_).ok());
    EXPECT_TRUE(rpc_.declare(host_.rows()).ok());
    EXPECT_TRUE(registry_.declare(host_.rows()).ok());
    start({});
  }
  void start(const IntroductionOptions& options) {
    EXPECT_TRUE(introductions_.start(host_, options).ok());
    EXPECT_TRUE(rpc_.start(host_).ok());
    EXPECT_TRUE(registry_.start(host_, {}).ok());
  }
  Result<v1::HeartbeatResponse> register_node(const std::string& shown = "", bool takes = true,
                                              const std::string& introduction = "") {
    v1::RegisterNodeRequest request;
    *request.mutable_node() = node_;
    request.set_takes_identity(takes);
    request.set_identity(shown);
    request.set_introduction(introduction);
    return host_.answer<v1::HeartbeatResponse>("/drover.v1.NodeRegistry/Register", request);
  }
  Result<v1::HeartbeatResponse> heartbeat(const std::string& shown, bool renews = false, bool takes = true) {
    v1::HeartbeatRequest request;
    request.set_node_id(kNode);
    request.set_secret_id(shown);
    request.set_status(v1::NODE_STATUS_READY);
    request.set_takes_identity(takes);
    request.set_renews_identity(renews);
    return host_.answer<v1::HeartbeatResponse>("/drover.v1.NodeRegistry/Heartbeat", request);
  }
  std::string introduction(const std::string& name, const std::string& pool, int64_t ttl = 0) {
    v1::IntroduceNodeRequest request;
    request.set_node_name(name);
    request.set_node_pool(pool);
    request.set_ttl(ttl);
    const auto made = host_.answer<v1::IntroduceNodeResponse>("/drover.v1.Nodes/Introduce", request);
    return made ? made->jwt() : made.status().to_string();
  }
  v1::Node stored() { return nodes_.get(*host_.snapshot(), kNode).value(); }

  drover::testing::FakeHost host_;
  drover::testing::FakeKeyring keyring_;
  Table<v1::NodePool> pools_;
  Table<v1::Node> nodes_;
  Introductions introductions_;
  Rpc rpc_{nodes_, introductions_};
  Registry registry_{nodes_, introductions_};
  v1::Node node_ = this_node();
};

TEST_F(NodeIdentityCalls, AnIdentityTakesThePlaceOfTheSecret) {
  registry_.begin_identities();
  const auto registered = register_node();
  ASSERT_TRUE(registered.ok()) << registered.status().to_string();
  const std::string first = registered->identity();
  ASSERT_NE(first, "");
  EXPECT_EQ(heartbeat(kSecret).status().code(), Code::permission_denied);
  EXPECT_EQ(heartbeat(first)->identity(), "") << "it has long to live";
  EXPECT_EQ(register_node(first)->identity(), "") << "the node holds it";
  EXPECT_TRUE(heartbeat(first).ok());

  const std::string second = register_node()->identity();
  EXPECT_NE(second, "") << "the node has lost it";
  EXPECT_EQ(heartbeat(first).status().code(), Code::permission_denied);
  EXPECT_TRUE(heartbeat(second).ok());
  node_.set_secret_id("another secret..");
  EXPECT_EQ(register_node(second).status().code(), Code::permission_denied);
}

TEST_F(NodeIdentityCalls, OneThatWasReplacedIsRefusedOnceTheNodeHasShownTheNewOne) {
  registry_.begin_identities();
  const std::string first = register_node()->identity();
  ASSERT_TRUE(heartbeat(first).ok());
  const std::string second = heartbeat(first, /*renews=*/true)->identity();
  ASSERT_NE(second, "");
  EXPECT_NE(second, first);
  const std::string third = heartbeat(first)->identity();  // the answer was lost
  ASSERT_NE(third, "");
  EXPECT_EQ(heartbeat(second).status().code(), Code::permission_denied);
  EXPECT_TRUE(heartbeat(third).ok());
  EXPECT_EQ(heartbeat(first).status().code(), Code::permission_denied);
  EXPECT_TRUE(heartbeat(third).ok());
  EXPECT_EQ(stored().identity().former_digest(), "");
}

TEST_F(NodeIdentityCalls, LiveAsLongAsThePoolSaysAndAreRenewedBeforeTheyEnd) {
  registry_.begin_identities();
  v1::NodePool pool;
  pool.set_name("gpu");
  pool.set_node_identity_ttl(300 * kSecond);
  host_.commit([&](WriteTransaction& rows) { return pools_.put(rows, pool); });
  const std::string first = register_node()->identity();
  ASSERT_TRUE(heartbeat(first).ok());
  EXPECT_LE(stored().identity().expires_at() - stored().identity().issued_at(), 300 * kSecond);
  host_.forward_clock().advance(std::chrono::seconds(190));
  EXPECT_EQ(heartbeat(first)->identity(), "");
  host_.forward_clock().advance(std::chrono::seconds(15));
  const std::string second = heartbeat(first)->identity();
  EXPECT_NE(second, "");
  host_.forward_clock().advance(std::chrono::seconds(301));
  EXPECT_EQ(heartbeat(second).status().code(), Code::permission_denied) << "it was away for too long";
  EXPECT_NE(register_node(second)->identity(), "");
}

TEST_F(NodeIdentityCalls, AreNotGivenToThoseWhoDoNotTakeThem) {
  registry_.begin_identities();
  const std::string first = register_node()->identity();
  ASSERT_NE(first, "");
  EXPECT_EQ(register_node("", /*takes=*/false)->identity(), "") << "a former version of the agent";
  EXPECT_FALSE(stored().has_identity());
  EXPECT_EQ(heartbeat(first).status().code(), Code::permission_denied);
  EXPECT_EQ(heartbeat(kSecret, false, /*takes=*/false)->identity(), "");
  EXPECT_NE(heartbeat(kSecret)->identity(), "") << "the agent is of this version again";
}

TEST_F(NodeIdentityCalls, BeginWhenEveryServerKnowsThemAndThereIsAKey) {
  host_.refuse("drover.v1.NodeIdentityGiven", failed_precondition("server two does not know the command"));
  registry_.begin_identities();
  EXPECT_EQ(register_node()->identity(), "");
  EXPECT_TRUE(heartbeat(kSecret).ok());
  host_.refuse("drover.v1.NodeIdentityGiven", ok_status());
  keyring_.active.clear();
  registry_.begin_identities();
  EXPECT_EQ(heartbeat(kSecret)->identity(), "");
  keyring_.active = std::string(16, 'A');
  const auto given = heartbeat(kSecret);
  ASSERT_NE(given->identity(), "");
  EXPECT_EQ(heartbeat(kSecret).status().code(), Code::permission_denied);
  EXPECT_TRUE(heartbeat(given->identity()).ok());
}

TEST_F(NodeIdentityCalls, OneThatHasEndedDoesNotShutANodeOutWhileThereIsNoKey) {
  registry_.begin_identities();
  const std::string first = register_node()->identity();
  host_.forward_clock().advance(std::chrono::hours(25));
  keyring_.active.clear();
  EXPECT_EQ(register_node(first)->identity(), "");
  EXPECT_TRUE(heartbeat(kSecret).ok());
}

TEST_F(NodeIdentityCalls, AreNotShownWithTheNode) {
  registry_.begin_identities();
  ASSERT_TRUE(register_node().ok());
  EXPECT_EQ(message_to_json(stored()).find("dentity"), std::string::npos);
}

TEST_F(NodeIdentityCalls, StrictServersTakeInOnlyWhoIsIntroduced) {
  start({.enforcement = Enforcement::strict});
  EXPECT_EQ(register_node().status(),
            permission_denied("node \"one\" is new and shows no introduction token; make one by \"drover node intro "
                              "create\" and give it to the agent, as client.intro_token"));
  EXPECT_EQ(register_node("", true, introduction("one", "cpu")).status(),
            permission_denied("introduction token refused: it is for the node pool \"cpu\", and the node is in "
                              "\"gpu\""));
  EXPECT_EQ(register_node("", true, "here.e30.forged").status().code(), Code::permission_denied);
  EXPECT_FALSE(nodes_.get(*host_.snapshot(), kNode));
  EXPECT_TRUE(register_node("", true, introduction("one", "gpu")).ok());
  EXPECT_TRUE(register_node().ok()) << "it is known";
}

TEST_F(NodeIdentityCalls, OtherServersTakeInWhoShowsNothingButNotWhoShowsAWrongToken) {
  for (const Enforcement enforcement : {Enforcement::none, Enforcement::warn}) {
    start({.enforcement = enforcement});
    EXPECT_EQ(register_node("", true, introduction("two", "gpu")).status().code(), Code::permission_denied);
  }
  EXPECT_TRUE(register_node().ok());
}

TEST_F(NodeIdentityCalls, IntroductionsLiveAsLongAsTheServersAllow) {
  const std::string token = introduction("one", "gpu", 60 * kSecond);
  EXPECT_EQ(introduction("one", "gpu", 3600 * kSecond),
            "invalid_argument: TTL: at most 30m0s, as client_introduction.max_identity_ttl of the servers says");
  EXPECT_EQ(introduction("one", "all"), "invalid_argument: NodePool: no node can be in \"all\"");
  host_.forward_clock().advance(std::chrono::seconds(61));
  EXPECT_EQ(register_node("", true, token).status(), permission_denied("introduction token refused: it has ended"));
  Introductions wrong;
  EXPECT_EQ(wrong.start(host_, {.default_ttl = std::chrono::hours(1), .max_ttl = std::chrono::minutes(1)}).code(),
            Code::invalid_argument);
}

}  // namespace
}  // namespace drover::nodes
