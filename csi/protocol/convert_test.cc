#include "csi/protocol/convert.h"

#include <limits>

#include "gtest/gtest.h"

namespace drover::csi {
namespace {

using Mode = v1::VolumeCapability::AccessMode;

v1::CreateVolumeResponse created(const std::string& id, int64_t capacity = 1) {
  v1::CreateVolumeResponse response;
  response.mutable_volume()->set_volume_id(id);
  response.mutable_volume()->set_capacity_bytes(capacity);
  return response;
}

v1::NodeGetInfoResponse node(const std::string& id, int64_t max_volumes = 0) {
  v1::NodeGetInfoResponse response;
  response.set_node_id(id);
  response.set_max_volumes_per_node(max_volumes);
  return response;
}

v1::Snapshot snapshot(const std::string& id, const std::string& source, int64_t size = 1) {
  v1::Snapshot out;
  out.set_snapshot_id(id);
  out.set_source_volume_id(source);
  out.set_size_bytes(size);
  return out;
}

TEST(CsiConvert, CapabilitiesInThePluginsWords) {
  struct Case {
    const char* word;
    Mode::Mode mode;
  };
  const Case cases[] = {{"single-node-reader-only", Mode::SINGLE_NODE_READER_ONLY},
                        {"single-node-writer", Mode::SINGLE_NODE_WRITER},
                        {"multi-node-reader-only", Mode::MULTI_NODE_READER_ONLY},
                        {"multi-node-single-writer", Mode::MULTI_NODE_SINGLE_WRITER},
                        {"multi-node-multi-writer", Mode::MULTI_NODE_MULTI_WRITER}};
  drover::v1::MountOptions options;
  options.set_fs_type("ext4");
  options.add_mount_flags("noatime");
  for (const Case& c : cases) {
    SCOPED_TRACE(c.word);
    const auto mounted = capability_of(c.word, "file-system", options);
    ASSERT_TRUE(mounted.ok());
    EXPECT_EQ(mounted->access_mode().mode(), c.mode);
    EXPECT_EQ(mounted->mount().fs_type(), "ext4");
    EXPECT_EQ(mounted->mount().mount_flags(0), "noatime");
    const auto block = capability_of(c.word, "block-device", options);
    ASSERT_TRUE(block.ok());
    EXPECT_TRUE(block->has_block());
    EXPECT_FALSE(block->has_mount());
  }
  EXPECT_EQ(capability_of("any", "file-system", {}).status(), invalid_argument("no access mode: \"any\""));
  EXPECT_EQ(capability_of("single-node-writer", "tape", {}).status(), invalid_argument("no attachment mode: \"tape\""));
}

TEST(CsiConvert, ControllersSayWhatTheyCan) {
  using Rpc = v1::ControllerServiceCapability::RPC;
  v1::ControllerGetCapabilitiesResponse response;
  EXPECT_EQ(controller_info_of(response).SerializeAsString(), "");
  for (int type = Rpc::Type_MIN; type <= Rpc::Type_MAX; ++type)
    response.add_capabilities()->mutable_rpc()->set_type(static_cast<Rpc::Type>(type));
  response.add_capabilities()->mutable_rpc()->set_type(static_cast<Rpc::Type>(99));  // of a later version
  response.add_capabilities();

  const auto info = controller_info_of(response);

  const auto* type = info.GetDescriptor();
  for (int i = 0; i < type->field_count(); ++i)
    EXPECT_TRUE(info.GetReflection()->GetBool(info, type->field(i))) << type->field(i)->name();
}

TEST(CsiConvert, NodesSayWhatTheyAre) {
  using Rpc = v1::NodeServiceCapability::RPC;
  v1::NodeGetCapabilitiesResponse capabilities;
  for (const auto type : {Rpc::STAGE_UNSTAGE_VOLUME, Rpc::GET_VOLUME_STATS})
    capabilities.add_capabilities()->mutable_rpc()->set_type(type);
  v1::NodeGetInfoResponse response = node("n1", 5);
  (*response.mutable_accessible_topology()->mutable_segments())["zone"] = "a";

  const auto info = node_info_of(response, capabilities);

  ASSERT_TRUE(info.ok()) << info.status().to_string();
  EXPECT_EQ(info->id(), "n1");
  EXPECT_EQ(info->max_volumes(), 5);
  EXPECT_EQ(info->accessible_topology().segments().at("zone"), "a");
  EXPECT_TRUE(info->requires_node_stage_volume());
  EXPECT_TRUE(info->supports_stats());
  EXPECT_FALSE(info->supports_expand());
  EXPECT_FALSE(info->supports_condition());
}

TEST(CsiConvert, NodesKeepTheContract) {
  const v1::NodeGetCapabilitiesResponse none;
  EXPECT_EQ(node_info_of(node("n"), none)->max_volumes(), std::numeric_limits<int64_t>::max());
  EXPECT_FALSE(node_info_of(node("n"), none)->has_accessible_topology());
  EXPECT_TRUE(node_info_of(node(std::string(256, 'n')), none).ok());
  EXPECT_EQ(node_info_of(node(std::string(257, 'n')), none).status(),
            internal_error("the plugin's answer has a node id of 257 bytes; there may be 256"));
  EXPECT_EQ(node_info_of(node(""), none).status(), internal_error("the plugin's answer has no node id"));
  EXPECT_EQ(node_info_of(node("n", -1), none).status(),
            internal_error("the plugin's answer has a negative number of volumes for a node: -1"));
}

TEST(CsiConvert, VolumesThatWereMade) {
  v1::CreateVolumeResponse response = created("v1", 4096);
  (*response.mutable_volume()->mutable_volume_context())["share"] = "/a";
  (*response.mutable_volume()->add_accessible_topology()->mutable_segments())["zone"] = "a";

  const auto out = created_of(response);

  ASSERT_TRUE(out.ok()) << out.status().to_string();
  EXPECT_EQ(out->external_volume_id(), "v1");
  EXPECT_EQ(out->capacity(), 4096);
  EXPECT_EQ(out->volume_context().at("share"), "/a");
  ASSERT_EQ(out->topologies_size(), 1);
  EXPECT_EQ(out->topologies(0).segments().at("zone"), "a");
}

TEST(CsiConvert, VolumesKeepTheContract) {
  v1::CreateVolumeResponse bloated = created("v");
  (*bloated.mutable_volume()->mutable_volume_context())["k"] = std::string(65536, 'x');
  struct Case {
    const char* name;
    v1::CreateVolumeResponse response;
    const char* error;
  };
  const Case cases[] = {
      {"no volume at all", {}, "the plugin's answer has no volume id"},
      {"empty id", created(""), "the plugin's answer has no volume id"},
      {"long id", created(std::string(129, 'v')), "the plugin's answer has a volume id of 129 bytes; there may be 128"},
      {"negative capacity", created("v", -1), "the plugin's answer has a negative capacity: -1"},
      {"context", bloated, "the plugin's answer has a volume context of 65537 bytes; there may be 65536"},
  };
  for (const Case& c : cases) {
    SCOPED_TRACE(c.name);
    EXPECT_EQ(created_of(c.response).status(), internal_error(c.error));
  }
  EXPECT_TRUE(created_of(created(std::string(128, 'v'), 0)).ok()) << "no capacity is one that nobody knows";
}

TEST(CsiConvert, ListsWithAndWithoutAStatus) {
  v1::ListVolumesResponse response;
  response.set_next_token("more");
  auto& plain = *response.add_entries();
  plain.mutable_volume()->set_volume_id("v1");  // without a status
  auto& full = *response.add_entries();
  full.mutable_volume()->set_volume_id("v2");
  full.mutable_volume()->set_capacity_bytes(7);
  full.mutable_volume()->mutable_content_source()->mutable_snapshot()->set_snapshot_id("s");
  full.mutable_status()->add_published_node_ids("n1");
  full.mutable_status()->mutable_volume_condition()->set_abnormal(true);
  full.mutable_status()->mutable_volume_condition()->set_message("worn out");
  auto& cloned = *response.add_entries();
  cloned.mutable_volume()->set_volume_id("v3");
  cloned.mutable_volume()->mutable_content_source()->mutable_volume()->set_volume_id("v2");
  cloned.mutable_status()->add_published_node_ids("n2");  // without a condition

  const auto out = listed_of(response);

  ASSERT_TRUE(out.ok()) << out.status().to_string();
  EXPECT_EQ(out->next_token(), "more");
  ASSERT_EQ(out->volumes_size(), 3);
  EXPECT_EQ(out->volumes(0).ShortDebugString(), "external_id: \"v1\"");
  EXPECT_EQ(out->volumes(1).ShortDebugString(),
            "external_id: \"v2\" capacity_bytes: 7 snapshot_id: \"s\" published_external_node_ids: \"n1\" "
            "is_abnormal: true status: \"worn out\"");
  EXPECT_EQ(out->volumes(2).ShortDebugString(),
            "external_id: \"v3\" clone_id: \"v2\" published_external_node_ids: \"n2\"");

  response.add_entries();  // without a volume
  EXPECT_EQ(listed_of(response).status(), internal_error("the plugin's answer has no volume id"));
}

TEST(CsiConvert, Snapshots) {
  v1::Snapshot full = snapshot("s", "v", 9);
  full.mutable_creation_time()->set_seconds(1700000000);
  full.set_ready_to_use(true);
  const auto out = snapshot_of(full);
  ASSERT_TRUE(out.ok()) << out.status().to_string();
  EXPECT_EQ(out->ShortDebugString(),
            "id: \"s\" external_volume_id: \"v\" size_bytes: 9 create_time: 1700000000 is_ready: true");

  EXPECT_EQ(snapshot_of(snapshot("", "v")).status(), internal_error("the plugin's answer has no snapshot id"));
  EXPECT_EQ(snapshot_of(snapshot("s", "")).status(), internal_error("the plugin's answer has no source volume id"));
  EXPECT_EQ(snapshot_of(snapshot("s", "v", -2)).status(),
            internal_error("the plugin's answer has a negative size: -2"));
  EXPECT_EQ(snapshot_of(snapshot(std::string(129, 's'), "v")).status().code(), Code::internal);
}

TEST(CsiConvert, Places) {
  drover::v1::CsiTopologyRequest wanted;
  (*wanted.add_required()->mutable_segments())["zone"] = "a";
  (*wanted.add_required()->mutable_segments())["zone"] = "b";
  (*wanted.add_preferred()->mutable_segments())["zone"] = "b";
  const auto out = requirement_of(wanted);
  ASSERT_EQ(out.requisite_size(), 2);
  EXPECT_EQ(out.requisite(1).segments().at("zone"), "b");
  ASSERT_EQ(out.preferred_size(), 1);
  EXPECT_EQ(requirement_of({}).SerializeAsString(), "");
}

v1::ValidateVolumeCapabilitiesRequest asked() {
  v1::ValidateVolumeCapabilitiesRequest request;
  *request.add_volume_capabilities() = *capability_of("single-node-writer", "file-system", {});
  *request.add_volume_capabilities() = *capability_of("multi-node-reader-only", "block-device", {});
  (*request.mutable_volume_context())["share"] = "/a";
  (*request.mutable_parameters())["kind"] = "fast";
  (*request.mutable_secrets())["key"] = "hunter2";
  return request;
}

v1::ValidateVolumeCapabilitiesResponse echoed(const v1::ValidateVolumeCapabilitiesRequest& request) {
  v1::ValidateVolumeCapabilitiesResponse answer;
  *answer.mutable_confirmed()->mutable_volume_capabilities() = request.volume_capabilities();
  *answer.mutable_confirmed()->mutable_volume_context() = request.volume_context();
  *answer.mutable_confirmed()->mutable_parameters() = request.parameters();
  return answer;
}

TEST(CsiConvert, AnAnswerIsNoConfirmation) {
  const auto request = asked();
  EXPECT_EQ(confirmed(request, echoed(request)), ok_status());

  v1::ValidateVolumeCapabilitiesResponse absent;
  EXPECT_EQ(confirmed(request, absent), invalid_argument("the plugin does not confirm anything"));
  absent.set_message("the key hunter2 is for another volume");
  EXPECT_EQ(confirmed(request, absent),
            invalid_argument("the plugin does not confirm anything: the key [REDACTED] is for another volume"));

  auto fewer = echoed(request);
  fewer.mutable_confirmed()->mutable_volume_capabilities()->RemoveLast();
  EXPECT_EQ(confirmed(request, fewer),
            invalid_argument("the plugin does not confirm multi-node-reader-only as block-device"));

  auto other_mode = echoed(request);
  other_mode.mutable_confirmed()->mutable_volume_capabilities(0)->mutable_access_mode()->set_mode(
      Mode::SINGLE_NODE_READER_ONLY);
  EXPECT_EQ(confirmed(request, other_mode),
            invalid_argument("the plugin does not confirm single-node-writer as file-system"));

  auto other_context = echoed(request);
  (*other_context.mutable_confirmed()->mutable_volume_context())["share"] = "/b";
  EXPECT_EQ(confirmed(request, other_context), invalid_argument("the plugin does not confirm the volume's context"));

  auto more_parameters = echoed(request);
  (*more_parameters.mutable_confirmed()->mutable_parameters())["more"] = "x";
  EXPECT_EQ(confirmed(request, more_parameters),
            invalid_argument("the plugin does not confirm the volume's parameters"));
}

TEST(CsiConvert, AConfirmationMayLeaveOutContextAndParameters) {
  const auto request = asked();
  auto bare = echoed(request);
  bare.mutable_confirmed()->clear_volume_context();
  bare.mutable_confirmed()->clear_parameters();
  EXPECT_EQ(confirmed(request, bare), ok_status());
}

}  // namespace
}  // namespace drover::csi
