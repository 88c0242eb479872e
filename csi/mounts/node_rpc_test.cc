#include "node_rpc.h"

#include "gtest/gtest.h"
#include "testing/node_world.h"

namespace drover::mounts {
namespace {

using testing::NodeWorld;

class NodeRpcTest : public ::testing::Test {
 protected:
  NodeRpcTest() {
    EXPECT_TRUE(rpc_.declare(world_.host.rows()).ok());
    rpc_.start({.host = world_.host, .instances = world_.instances, .turns = world_.turns, .keeper = *world_.keeper});
  }
  template <typename Response, typename Request>
  Result<Response> ask(const std::string& method, const Request& request) {
    return world_.host.answer<Response>("/drover.v1.NodeCsi/" + method, request);
  }
  template <typename Request>
  Request asked(const std::string& method) const {
    Request request;
    EXPECT_TRUE(request.ParseFromString(world_.plugin.last_request(method)));
    return request;
  }
  static v1::CsiAttachRequest attach_request() {
    v1::CsiAttachRequest request;
    request.set_plugin_id("disks");
    request.set_external_volume_id("ext");
    request.set_external_node_id("node-1");
    request.mutable_capability()->set_access_mode("single-node-writer");
    request.mutable_capability()->set_attachment_mode("file-system");
    request.mutable_mount_options()->set_fs_type("ext4");
    (*request.mutable_secrets())["password"] = "hush";
    (*request.mutable_volume_context())["pool"] = "fast";
    return request;
  }

  NodeWorld world_;
  NodeRpc rpc_;
};

TEST_F(NodeRpcTest, AttachesThroughTheController) {
  const auto answer = ask<v1::CsiAttachResponse>("Attach", attach_request());

  ASSERT_TRUE(answer.ok()) << answer.status().to_string();
  EXPECT_EQ(answer->publish_context().at("device"), "/dev/fake");
  const auto request = asked<csi::v1::ControllerPublishVolumeRequest>("ControllerPublishVolume");
  EXPECT_EQ(request.volume_id(), "ext");
  EXPECT_EQ(request.node_id(), "node-1");
  EXPECT_EQ(request.secrets().at("password"), "hush");
  EXPECT_EQ(request.volume_context().at("pool"), "fast");
  EXPECT_EQ(request.volume_capability().mount().fs_type(), "ext4");
  EXPECT_EQ(request.volume_capability().access_mode().mode(),
            csi::v1::VolumeCapability::AccessMode::SINGLE_NODE_WRITER);
}

TEST_F(NodeRpcTest, HandsOnThePluginsErrorWithItsCode) {
  world_.plugin.fail("ControllerPublishVolume", {.code = Code::failed_precondition, .text = "attached to node-2"});
  const Status status = ask<v1::CsiAttachResponse>("Attach", attach_request()).status();
  EXPECT_EQ(status.code(), Code::failed_precondition);
  EXPECT_EQ(status.message(), "ControllerPublishVolume: attached to node-2");
}

TEST_F(NodeRpcTest, RepeatsWhatMayNotHaveComeThrough) {
  world_.plugin.fail("ControllerPublishVolume", {.code = Code::unavailable}, 2);
  EXPECT_TRUE(ask<v1::CsiAttachResponse>("Attach", attach_request()).ok());
  EXPECT_EQ(world_.plugin.calls().size(), 3u);
}

TEST_F(NodeRpcTest, SaysThatThereIsNoSuchController) {
  v1::CsiAttachRequest request = attach_request();
  request.set_plugin_id("tapes");
  EXPECT_EQ(ask<v1::CsiAttachResponse>("Attach", request).status(),
            unavailable("no healthy controller plugin \"tapes\" on this node"));
}

TEST_F(NodeRpcTest, AVolumeThatIsGoneIsDetached) {
  world_.plugin.fail("ControllerUnpublishVolume", {.code = Code::not_found});
  v1::CsiDetachRequest request;
  request.set_plugin_id("disks");
  request.set_external_volume_id("ext");
  EXPECT_TRUE(ask<v1::CsiDoneResponse>("Detach", request).ok());
}

TEST_F(NodeRpcTest, AStorageThatDoesNotAttachHasNothingAttached) {
  world_.plugin.fail("ControllerUnpublishVolume", {.code = Code::unimplemented});
  v1::CsiDetachRequest request;
  request.set_plugin_id("disks");
  request.set_external_volume_id("ext");
  EXPECT_TRUE(ask<v1::CsiDoneResponse>("Detach", request).ok());
}

// Servers hear not_found where a node cannot be reached, too, and try again then.
TEST_F(NodeRpcTest, AttachingWhatTheStorageDoesNotKnowIsInvalid) {
  world_.plugin.fail("ControllerPublishVolume", {.code = Code::not_found, .text = "no such volume"});
  EXPECT_EQ(ask<v1::CsiAttachResponse>("Attach", attach_request()).status(),
            invalid_argument("ControllerPublishVolume: no such volume"));
}

TEST_F(NodeRpcTest, AFormerLeaderComesTooLate) {
  v1::CsiAttachRequest request = attach_request();
  request.set_leader_term(7);
  EXPECT_TRUE(ask<v1::CsiAttachResponse>("Attach", request).ok());
  v1::CsiDetachRequest late;
  late.set_plugin_id("disks");
  late.set_external_volume_id("ext");
  late.set_leader_term(6);
  EXPECT_EQ(ask<v1::CsiDoneResponse>("Detach", late).status(), aborted("the server that asks does not lead any more"));
  EXPECT_EQ(world_.plugin.calls().size(), 1u);
  late.set_leader_term(7);
  EXPECT_TRUE(ask<v1::CsiDoneResponse>("Detach", late).ok());
}

TEST_F(NodeRpcTest, NothingGrowsWhereTheVolumeIsNotMounted) {
  v1::CsiNodeExpandRequest request;
  request.set_plugin_id("disks");
  request.set_namespace_("default");
  request.set_volume_id("db");
  request.set_alloc_id(std::string(16, 'a'));
  EXPECT_TRUE(ask<v1::CsiExpandResponse>("NodeExpand", request).ok());
}

TEST_F(NodeRpcTest, ASilentPluginConfirmsNothing) {
  v1::CsiValidateRequest request;
  request.set_plugin_id("disks");
  request.set_external_volume_id("ext");
  *request.add_capabilities() = attach_request().capability();
  EXPECT_EQ(ask<v1::CsiDoneResponse>("Validate", request).status().code(), Code::invalid_argument);
}

TEST_F(NodeRpcTest, CreatesAVolume) {
  v1::CsiCreateRequest request;
  request.set_plugin_id("disks");
  request.set_name("db");
  request.set_capacity_min(10);
  request.set_snapshot_id("snap");
  *request.add_capabilities() = attach_request().capability();

  const auto answer = ask<v1::CsiCreateResponse>("Create", request);

  ASSERT_TRUE(answer.ok()) << answer.status().to_string();
  EXPECT_EQ(answer->external_volume_id(), "made-db");
  const auto asked = this->asked<csi::v1::CreateVolumeRequest>("CreateVolume");
  EXPECT_EQ(asked.capacity_range().required_bytes(), 10);
  EXPECT_EQ(asked.volume_content_source().snapshot().snapshot_id(), "snap");
  EXPECT_EQ(asked.volume_capabilities_size(), 1);
}

TEST_F(NodeRpcTest, NeverCallsWhatThePluginCannot) {
  v1::CsiListRequest list;
  list.set_plugin_id("disks");
  EXPECT_EQ(ask<v1::CsiListResponse>("List", list).status(),
            unimplemented("the plugin \"disks\" cannot list volumes"));
  v1::CsiDeleteSnapshotRequest snapshot;
  snapshot.set_plugin_id("disks");
  snapshot.set_snapshot_id("s");
  EXPECT_EQ(ask<v1::CsiDoneResponse>("DeleteSnapshot", snapshot).status().code(), Code::unimplemented);
  EXPECT_TRUE(world_.plugin.calls().empty());
}

TEST_F(NodeRpcTest, ReleasesForTheServers) {
  const Uuid alloc = Uuid::random();
  ASSERT_TRUE(world_.mount(alloc).ok());
  world_.keeper->settled();
  v1::CsiReleaseRequest request;
  request.mutable_claim()->set_namespace_("default");
  request.mutable_claim()->set_alloc_id(alloc.bytes());
  request.mutable_claim()->set_volume_id("data");
  request.mutable_claim()->set_plugin_id("disks");
  request.mutable_claim()->set_external_volume_id("ext-data");

  EXPECT_EQ(ask<v1::CsiDoneResponse>("Release", request).status().code(), Code::failed_precondition);
  world_.keeper->ended(alloc);
  EXPECT_TRUE(ask<v1::CsiDoneResponse>("Release", request).ok());
  EXPECT_TRUE(world_.plugin.mounts().empty());
}

TEST(NodeRpc, IsUnavailableBeforeTheStart) {
  testing::NodeHost host;
  NodeRpc rpc;
  ASSERT_TRUE(rpc.declare(host.rows()).ok());
  EXPECT_EQ(host.answer<v1::CsiDoneResponse>("/drover.v1.NodeCsi/Release", v1::CsiReleaseRequest()).status().code(),
            Code::unavailable);
}

}  // namespace
}  // namespace drover::mounts
