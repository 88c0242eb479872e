// The kit's own judgement: tables of answers, right and wrong.
#include "contract/contract.h"

#include <gtest/gtest.h>

#include "../check.h"
#include "../settings.h"
#include "contract/abilities.h"
#include "csi/protocol/messages.h"

namespace drover::csi_kit {
namespace {

namespace v1 = ::csi::v1;
using AccessMode = v1::VolumeCapability::AccessMode;
using Rpc = v1::ControllerServiceCapability::RPC;
using NodeRpc = v1::NodeServiceCapability::RPC;
using Service = v1::PluginCapability::Service;

TEST(PluginName, IsInDomainStyle) {
  for (const char* good : {"a", "hostpath.csi.drover", "EBS-1.csi.aws.com"})
    EXPECT_TRUE(contract::is_plugin_name(good)) << good;
  for (const std::string& bad : {std::string(), std::string("-a"), std::string("a."), std::string("a b"),
                                 std::string("a/b"), std::string(64, 'a')})
    EXPECT_FALSE(contract::is_plugin_name(bad)) << bad;
  EXPECT_TRUE(contract::is_plugin_name(std::string(63, 'a')));
}

TEST(SecondPublish, IsTheSpecificationsTable) {
  struct Case {
    AccessMode::Mode mode;
    bool is_same_target, are_same_arguments;
    Code code;
  };
  constexpr Case kCases[] = {
      {AccessMode::MULTI_NODE_MULTI_WRITER, true, true, Code::ok},
      {AccessMode::MULTI_NODE_MULTI_WRITER, true, false, Code::already_exists},
      {AccessMode::MULTI_NODE_MULTI_WRITER, false, true, Code::ok},
      {AccessMode::MULTI_NODE_READER_ONLY, false, true, Code::ok},
      {AccessMode::MULTI_NODE_SINGLE_WRITER, false, true, Code::ok},
      {AccessMode::SINGLE_NODE_MULTI_WRITER, false, true, Code::ok},
      {AccessMode::SINGLE_NODE_SINGLE_WRITER, true, true, Code::ok},
      {AccessMode::SINGLE_NODE_SINGLE_WRITER, true, false, Code::already_exists},
      {AccessMode::SINGLE_NODE_SINGLE_WRITER, false, true, Code::failed_precondition},
      {AccessMode::SINGLE_NODE_WRITER, false, true, Code::failed_precondition},
      {AccessMode::SINGLE_NODE_READER_ONLY, false, true, Code::failed_precondition},
  };
  for (const Case& c : kCases) {
    SCOPED_TRACE(AccessMode::Mode_Name(c.mode));
    EXPECT_EQ(contract::second_publish(c.mode, c.is_same_target, c.are_same_arguments), c.code);
  }
}

TEST(Capacity, LiesWithinTheRange) {
  struct Case {
    int64_t required, limit, bytes;
    bool is_right;
  };
  for (const auto& [required, limit, bytes, is_right] :
       {Case{10, 20, 10, true}, Case{10, 20, 20, true}, Case{10, 20, 9, false}, Case{10, 20, 21, false},
        Case{10, 0, 1000, true}, Case{0, 0, 0, true}, Case{10, 20, 0, true}}) {
    v1::CreateVolumeRequest asked;
    asked.mutable_capacity_range()->set_required_bytes(required);
    asked.mutable_capacity_range()->set_limit_bytes(limit);
    v1::Volume volume;
    volume.set_capacity_bytes(bytes);
    EXPECT_EQ(contract::capacity(asked, volume).ok(), is_right) << required << " " << limit << " " << bytes;
  }
}

TEST(Confirmation, HoldsAllThatWasAsked) {
  v1::ValidateVolumeCapabilitiesRequest asked;
  asked.add_volume_capabilities()->mutable_access_mode()->set_mode(AccessMode::SINGLE_NODE_WRITER);
  (*asked.mutable_volume_context())["a"] = "b";
  v1::ValidateVolumeCapabilitiesResponse answer;
  EXPECT_FALSE(contract::confirmed(asked, answer).ok());
  *answer.mutable_confirmed()->add_volume_capabilities() = asked.volume_capabilities(0);
  EXPECT_TRUE(contract::confirmed(asked, answer).ok()) << "the context may be left out";
  (*answer.mutable_confirmed()->mutable_volume_context())["a"] = "c";
  EXPECT_FALSE(contract::confirmed(asked, answer).ok());
  answer.mutable_confirmed()->clear_volume_context();
  answer.mutable_confirmed()->mutable_volume_capabilities(0)->mutable_access_mode()->set_mode(
      AccessMode::SINGLE_NODE_READER_ONLY);
  EXPECT_FALSE(contract::confirmed(asked, answer).ok());
}

TEST(Usage, IsNeverMoreThanThereIs) {
  v1::NodeGetVolumeStatsResponse answer;
  EXPECT_FALSE(contract::usage(answer).ok());
  auto& usage = *answer.add_usage();
  usage.set_total(10);
  EXPECT_FALSE(contract::usage(answer).ok()) << "without a unit";
  usage.set_unit(v1::VolumeUsage::BYTES);
  EXPECT_TRUE(contract::usage(answer).ok());
  usage.set_available(11);
  EXPECT_FALSE(contract::usage(answer).ok());
  usage.set_available(-1);
  EXPECT_FALSE(contract::usage(answer).ok());
  usage.set_available(10);
  *answer.add_usage() = usage;
  EXPECT_FALSE(contract::usage(answer).ok()) << "a unit twice";
}

TEST(OneOf, NamesWhatWasRight) {
  EXPECT_TRUE(contract::one_of(not_found("x"), {Code::ok, Code::not_found}).ok());
  EXPECT_EQ(contract::one_of(internal_error("x"), {Code::ok, Code::not_found}).message(),
            "the code should be ok or not_found, and is internal");
}

TEST(Missing, SaysWhyACheckIsLeftOut) {
  Settings settings{.program = "/plugin"};
  Abilities abilities{.has_node = true, .node_id = "n1"};
  EXPECT_EQ(missing(Check::nothing, abilities, settings), "");
  EXPECT_EQ(missing(Check::create, abilities, settings), "this instance serves no controller");
  abilities.has_controller = true;
  EXPECT_EQ(missing(Check::create, abilities, settings), "the plugin lacks CREATE_DELETE_VOLUME");
  EXPECT_EQ(missing(Check::volume, abilities, settings),
            "the plugin lacks CREATE_DELETE_VOLUME, and none is named (-existing-volume)");
  settings.volume = "vol-1";
  EXPECT_EQ(missing(Check::volume, abilities, settings), "");
  abilities.controller = {Rpc::CREATE_DELETE_VOLUME, Rpc::PUBLISH_UNPUBLISH_VOLUME, Rpc::MODIFY_VOLUME};
  EXPECT_EQ(missing(Check::create | Check::attach, abilities, settings), "");
  EXPECT_EQ(missing(Check::no_modify, abilities, settings), "the plugin has MODIFY_VOLUME");
  EXPECT_EQ(missing(Check::places, abilities, settings), "the plugin lacks VOLUME_ACCESSIBILITY_CONSTRAINTS");
  EXPECT_EQ(missing(Check::stage, abilities, settings), "the plugin lacks STAGE_UNSTAGE_VOLUME");
  abilities.node = {NodeRpc::STAGE_UNSTAGE_VOLUME};
  EXPECT_EQ(missing(Check::stage | Check::mounts, abilities, settings), "");
  abilities.why_no_mounts = "mounts need root";
  EXPECT_EQ(missing(Check::mounts, abilities, settings), "mounts need root");
  settings.program.clear();
  EXPECT_EQ(missing(Check::program, abilities, settings), "the plugin was not started here (-endpoint)");
  abilities = {.controller = {Rpc::PUBLISH_UNPUBLISH_VOLUME}, .has_controller = true};
  EXPECT_EQ(missing(Check::attach, abilities, settings), "this instance serves no node to attach to");
}

TEST(Missing, ANodeWhoseControllerIsElsewhereIsNotMounted) {
  const Settings settings{.program = "/plugin", .volume = "vol-1"};
  const Abilities abilities{.plugin = {Service::CONTROLLER_SERVICE}, .has_node = true, .node_id = "n1"};
  EXPECT_EQ(missing(Check::mounts, abilities, settings),
            "this instance serves no controller, which may have to attach first");
}

}  // namespace
}  // namespace drover::csi_kit
