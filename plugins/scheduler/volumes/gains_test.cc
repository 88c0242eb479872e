#include "volumes/gains.h"

#include <gtest/gtest.h>

#include <functional>

#include "drover/v1/evaluation.pb.h"
#include "testing/storage_world.h"

namespace drover::scheduler {
namespace {

using testing::add_plugin;
using testing::make_node;

TEST(StorageGains, APluginIsGainedWhereItWasNotHealthyBefore) {
  v1::Node with = make_node("n1");
  add_plugin(with);
  v1::Node without = make_node("n1");
  v1::Node sick = with;
  sick.mutable_csi_node_plugins()->at("p").set_healthy(false);
  v1::Node down = with;
  down.set_status(v1::NODE_STATUS_DOWN);
  v1::Node controls = with;
  (*controls.mutable_csi_controller_plugins())["p"].set_healthy(true);
  const std::vector<std::string> none, one = {"p"};
  EXPECT_EQ(plugins_gained(nullptr, with), one);
  EXPECT_EQ(plugins_gained(&without, with), one);
  EXPECT_EQ(plugins_gained(&sick, with), one);
  EXPECT_EQ(plugins_gained(&down, with), one);
  EXPECT_EQ(plugins_gained(&with, controls), one) << "its controller";
  EXPECT_EQ(plugins_gained(nullptr, controls), one) << "once";
  EXPECT_EQ(plugins_gained(&with, with), none);
  EXPECT_EQ(plugins_gained(&with, sick), none);
  EXPECT_EQ(plugins_gained(&with, down), none);
  EXPECT_EQ(plugins_gained(nullptr, without), none);
}

TEST(StorageGains, ConcernWhoWaitsForThem) {
  v1::StorageWait wait;
  wait.add_volumes("data");
  wait.add_plugins("p");
  v1::CsiClaim claim;
  claim.set_namespace_("default");
  claim.set_volume_id("data");
  claim.set_plugin_id("q");
  EXPECT_TRUE(concerns(gain_of(claim), "default", wait));
  EXPECT_FALSE(concerns(gain_of(claim), "other", wait)) << "a volume of that name elsewhere";
  claim.set_volume_id("other");
  EXPECT_FALSE(concerns(gain_of(claim), "default", wait));
  claim.set_plugin_id("p");
  EXPECT_TRUE(concerns(gain_of(claim), "other", wait)) << "nodes take one more volume of the plugin";
  v1::CsiVolume volume;
  volume.set_namespace_("default");
  volume.set_id("data");
  EXPECT_TRUE(concerns(gain_of(volume), "default", wait));
  EXPECT_FALSE(concerns(gain_of(volume), "default", v1::StorageWait()));
  EXPECT_FALSE(concerns({}, "default", wait));
}

}  // namespace
}  // namespace drover::scheduler
