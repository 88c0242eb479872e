#include "node/fingerprint.h"

#include "drover/v1/node.pb.h"
#include "testing/vault_node.h"

namespace drover::vault {
namespace {

TEST_F(VaultNode, TheNodeSaysWhichVaultItReaches) {
  Fingerprint fingerprint;
  int changes = 0;
  fingerprint.watch([&] { ++changes; });
  fingerprint.start(host_, *client_);
  EXPECT_EQ(changes, 1);
  v1::Node node;
  (*node.mutable_attributes())["cpu.arch"] = "x86_64";
  EXPECT_TRUE(fingerprint.refresh(node));
  EXPECT_FALSE(fingerprint.refresh(node)) << "nothing has changed";
  EXPECT_EQ(node.attributes().at("vault.accessible"), "true");
  EXPECT_EQ(node.attributes().at("vault.version"), "1.15.2");
  EXPECT_EQ(node.attributes().at("vault.cluster_id"), "fake-id");
  EXPECT_EQ(node.attributes().at("vault.cluster_name"), "fake");
  host_.run_delayed();
  EXPECT_EQ(changes, 1);
  vault_.order(R"({"sealed": true})");
  host_.run_delayed();
  EXPECT_EQ(changes, 2);
  EXPECT_TRUE(fingerprint.refresh(node));
  EXPECT_EQ(node.attributes_size(), 1) << "tasks that need it are not placed here";
}

}  // namespace
}  // namespace drover::vault
