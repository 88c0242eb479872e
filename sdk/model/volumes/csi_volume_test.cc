#include "drover/model/csi_volume.h"

#include <gtest/gtest.h>

#include "drover/v1/csi.pb.h"
#include "drover/v1/job.pb.h"
#include "drover/v1/node.pb.h"

namespace drover {
namespace {

TEST(CsiVolume, OfEachAllocationMayBeItsOwn) {
  v1::VolumeRequest request;
  request.set_source("data");
  EXPECT_EQ(csi_volume_id(request, "web.app[3]"), "data");
  request.set_per_alloc(true);
  EXPECT_EQ(csi_volume_id(request, "web.app[3]"), "data[3]");
  EXPECT_EQ(csi_volume_id(request, "a[1].b[12]"), "data[12]");
  EXPECT_EQ(csi_volume_id(request, ""), "data");
}

TEST(CsiVolume, HasTheNameThatItsStorageGaveIt) {
  v1::CsiVolume volume;
  volume.set_id("data");
  EXPECT_EQ(csi_remote_id(volume), "data");
  volume.set_external_id("vol-1");
  EXPECT_EQ(csi_remote_id(volume), "vol-1");
}

TEST(CsiPlugin, IsHealthyOnNodesThatAreReady) {
  v1::Node node;
  node.set_status(v1::NODE_STATUS_READY);
  v1::CsiInfo& info = (*node.mutable_csi_node_plugins())["p"];
  info.set_healthy(true);
  info.set_provider("example.org");
  CsiPluginState state;
  count_csi_plugin(node, "other", state);
  EXPECT_EQ(state.nodes, 0);
  count_csi_plugin(node, "p", state);
  EXPECT_TRUE(state.may_be_used());
  info.set_requires_controller_plugin(true);
  node.set_status(v1::NODE_STATUS_DOWN);
  count_csi_plugin(node, "p", state);
  EXPECT_EQ(state.nodes, 2);
  EXPECT_EQ(state.nodes_healthy, 1);
  EXPECT_FALSE(state.may_be_used()) << "it needs a controller";
  EXPECT_EQ(state.provider, "example.org");
}

TEST(CsiPlugin, IsATaskOfItsJob) {
  v1::Job job;
  EXPECT_FALSE(runs_csi_plugin(job));
  job.add_task_groups()->add_tasks();
  EXPECT_FALSE(runs_csi_plugin(job));
  job.mutable_task_groups(0)->add_tasks()->mutable_csi_plugin_config()->set_id("p");
  EXPECT_TRUE(runs_csi_plugin(job));
}

TEST(CsiClaims, OneMoreFitsOrNot) {
  constexpr const char* kOne = "single-node-writer";
  constexpr const char* kAll = "multi-node-multi-writer";
  const struct {
    const char* name;
    const char* used;  // the mode in which it is used; empty: by nobody
    int readers, writers;
    const char* mode;
    bool reads;
    CsiFit fit;
  } cases[] = {
      {"the first writer", "", 0, 0, kOne, false, CsiFit::fits},
      {"the second", kOne, 0, 1, kOne, false, CsiFit::no_writer},
      {"a reader beside a writer", kOne, 0, 1, kOne, true, CsiFit::no_reader},
      {"a further writer of many", kAll, 0, 7, kAll, false, CsiFit::fits},
      {"a reader of many", kAll, 3, 7, kAll, true, CsiFit::fits},
      {"a second mode", kAll, 1, 0, kOne, false, CsiFit::other_mode},
      {"a mode that it was not meant for", "", 0, 0, "multi-node-single-writer", false, CsiFit::wrong_capability},
      {"a writer in a mode of readers", "", 0, 0, "multi-node-reader-only", false, CsiFit::read_only},
      {"one writer among readers", "", 0, 0, "multi-node-reader-only", true, CsiFit::fits}};
  for (const auto& c : cases) {
    SCOPED_TRACE(c.name);
    v1::CsiVolume volume;
    for (const char* mode : {kOne, kAll, "multi-node-reader-only"}) {
      v1::CsiVolumeCapability& capability = *volume.add_requested_capabilities();
      capability.set_access_mode(mode);
      capability.set_attachment_mode("file-system");
    }
    volume.set_access_mode(c.used);
    if (*c.used != 0) volume.set_attachment_mode("file-system");
    std::vector<v1::CsiClaim> claims(static_cast<size_t>(c.readers + c.writers));
    for (int i = 0; i < c.readers; ++i) claims[static_cast<size_t>(i)].set_read_only(true);
    v1::VolumeRequest request;
    request.set_access_mode(c.mode);
    request.set_attachment_mode("file-system");
    request.set_read_only(c.reads);
    EXPECT_EQ(csi_fit(volume, true, claims, request), c.fit);
    const CsiFit unusable = c.fit == CsiFit::wrong_capability ? c.fit : CsiFit::unschedulable;
    EXPECT_EQ(csi_fit(volume, false, claims, request), unusable);
  }
}

TEST(CsiTopology, AllSegmentsOfOneTermHold) {
  v1::CsiVolume volume;
  v1::CsiTopology node;
  EXPECT_TRUE(csi_reaches(volume, node)) << "from everywhere";
  auto& term = *volume.add_topologies()->mutable_segments();
  term["zone"] = "a";
  term["rack"] = "1";
  (*node.mutable_segments())["zone"] = "a";
  EXPECT_FALSE(csi_reaches(volume, node));
  (*node.mutable_segments())["rack"] = "1";
  EXPECT_TRUE(csi_reaches(volume, node));
  (*volume.add_topologies()->mutable_segments())["zone"] = "b";
  node.clear_segments();
  (*node.mutable_segments())["zone"] = "b";
  EXPECT_TRUE(csi_reaches(volume, node)) << "of another term";
  node.clear_segments();
  (*node.mutable_segments())["Zone"] = "b";
  EXPECT_TRUE(csi_reaches(volume, node)) << "names have no case";
  (*node.mutable_segments())["Zone"] = "B";
  EXPECT_FALSE(csi_reaches(volume, node)) << "values do";
}

}  // namespace
}  // namespace drover
