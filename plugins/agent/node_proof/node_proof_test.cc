// A node proves itself, and its tasks go on while the servers do not believe it.
#include "node_proof/node_proof.h"

#include <fstream>

#include "drover/api/client.pb.h"
#include "drover/base64url.h"
#include "node_proof/introduction.h"
#include "testing/agent_fixture.h"

namespace drover::agent {
namespace {

std::string token_of(const std::string& claims) { return "head." + base64url(claims) + ".signature"; }

class NodeProofs : public AgentTest {
 protected:
  void start_with(const std::string& identity) {
    servers_.give_identity(identity);
    start();
  }
  bool proven_by(const std::string& identity) {
    return servers_.wait([&] { return servers_.proof == identity; });
  }
};

TEST_F(NodeProofs, AnIdentityTakesThePlaceOfTheSecretAndOutlivesTheAgent) {
  start_with(token_of(R"({"nomad_node_pool":"gpu"})"));
  EXPECT_TRUE(servers_.registered.takes_identity());
  EXPECT_EQ(servers_.registered.identity(), "");
  until_status(place({task("web")}), v1::CLIENT_STATUS_RUNNING);  // calls of allocations show it
  const auto shown = ask<v1::NodeIdentityResponse>("Get", v1::NodeIdentityRequest());
  ASSERT_TRUE(shown.ok()) << shown.status().to_string();
  EXPECT_EQ(shown->claims(), R"({"nomad_node_pool":"gpu"})");
  stop();

  servers_.expect_another_agent();
  start();
  EXPECT_EQ(servers_.registered.identity(), token_of(R"({"nomad_node_pool":"gpu"})"));
  EXPECT_EQ(servers_.disbelieved, 0);
}

TEST_F(NodeProofs, ANodeThatIsNotBelievedKeepsItsTasksAndRegistersAgain) {
  start_with("h.first.s");
  const std::string id = place({task("web")});
  until_status(id, v1::CLIENT_STATUS_RUNNING);
  const int before = servers_.registrations;

  servers_.give_identity("h.second.s");
  servers_.doubt();

  ASSERT_TRUE(proven_by("h.second.s"));
  EXPECT_GT(servers_.registrations, before);
  EXPECT_EQ(servers_.registered.identity(), "") << "the identity that is not believed is dropped";
  EXPECT_EQ(servers_.registered.node().secret_id().size(), 16u);
  until_status(place({task("more")}), v1::CLIENT_STATUS_RUNNING);  // the servers are heard again
  EXPECT_TRUE(driver_.stopped().empty());
  EXPECT_EQ(v1::CLIENT_STATUS_RUNNING, until_status(id, v1::CLIENT_STATUS_RUNNING).client_status());
}

TEST_F(NodeProofs, ANodeThatIsRefusedForLongEndsNothing) {
  start_with("h.first.s");
  const std::string id = place({task("web")});
  until_status(id, v1::CLIENT_STATUS_RUNNING);
  servers_.doubt();
  ASSERT_TRUE(servers_.wait([&] { return servers_.disbelieved > 8; }));
  EXPECT_TRUE(driver_.stopped().empty());
}

TEST_F(NodeProofs, ANewIdentityIsAskedForAtOnce) {
  start_with("h.first.s");
  ASSERT_TRUE(ask<v1::ClientResponse>("Renew", v1::NodeIdentityRequest()).ok());
  ASSERT_TRUE(servers_.wait([&] { return servers_.wanted_identities > 0; }));
  servers_.give_identity("h.second.s");
  ASSERT_TRUE(proven_by("h.second.s"));
  until_status(place({task("web")}), v1::CLIENT_STATUS_RUNNING);
  EXPECT_EQ(servers_.registrations, 1) << "a heartbeat is enough";
}

TEST_F(NodeProofs, WithoutAnIdentityThereAreNoClaims) {
  start();
  EXPECT_EQ(ask<v1::NodeIdentityResponse>("Get", v1::NodeIdentityRequest()).status(),
            not_found("this node has no identity; its secret proves it"));
}

TEST_F(NodeProofs, TheConfiguredIntroductionIsShown) {
  configure("intro_token = \"h.intro.s\"\n");
  start();
  EXPECT_EQ(servers_.registered.introduction(), "h.intro.s");
}

TEST_F(NodeProofs, TheIntroductionMayLieInTheStateFolder) {
  const std::string file = introduction_file(folder_);
  EXPECT_EQ(*introduction_token("", file), "") << "a file that is not there is no error";
  std::filesystem::create_directories(folder_ + "/client");
  std::ofstream(file) << "h.intro.s\n";
  EXPECT_EQ(*introduction_token("", file), "h.intro.s");
  EXPECT_EQ(*introduction_token("h.other.s", file), "h.other.s");
  start();
  EXPECT_EQ(servers_.registered.introduction(), "h.intro.s");
  std::ofstream(file) << std::string(20'000, 'x');
  EXPECT_EQ(introduction_token("", file).status(), invalid_argument(file + ": too long for a token"));
}

}  // namespace
}  // namespace drover::agent
