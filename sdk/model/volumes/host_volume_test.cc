#include "drover/model/host_volume.h"

#include <gtest/gtest.h>

#include "drover/v1/csi.pb.h"
#include "drover/v1/host_volume.pb.h"
#include "drover/v1/job.pb.h"
#include "drover/v1/node.pb.h"

namespace drover {
namespace {

const std::string kId(16, '\x07'), kOther(16, '\x08');

v1::DynamicHostVolume volume(v1::HostVolumeStep step) {
  v1::DynamicHostVolume volume;
  volume.set_id(kId);
  volume.set_name("data");
  volume.set_step(step);
  volume.set_step_index(10);
  return volume;
}

TEST(HostVolume, ItsStateIsWhatItsNodeSays) {
  struct Case {
    const char* name;
    v1::HostVolumeStep step;
    bool has_node;
    const char* offered;  // identifier; null: none of the name
    v1::NodeStatus status;
    uint64_t node_index;
    HostVolumeState state;
  };
  using enum HostVolumeState;
  const auto making = v1::HOST_VOLUME_STEP_MAKING, made = v1::HOST_VOLUME_STEP_MADE,
             deleting = v1::HOST_VOLUME_STEP_DELETING;
  const auto up = v1::NODE_STATUS_READY, down = v1::NODE_STATUS_DOWN;
  const char *own = kId.c_str(), *other = kOther.c_str();
  const Case cases[] = {
      {"being made", making, true, nullptr, up, 20, pending},
      {"being made anew, offered as it was", making, true, own, up, 20, pending},
      {"made, and offered", made, true, own, up, 5, ready},
      {"made, the node has not registered since", made, true, nullptr, up, 10, pending},
      {"made, the node has registered without it", made, true, nullptr, up, 11, unavailable},
      {"another one of its name", made, true, other, up, 11, unavailable},
      {"its node is down", made, true, own, down, 11, unavailable},
      {"its node is gone", made, false, nullptr, up, 0, unavailable},
      {"being deleted", deleting, true, own, up, 11, deleted},
      {"being deleted, the node is gone", deleting, false, nullptr, up, 0, deleted},
  };
  for (const Case& c : cases) {
    SCOPED_TRACE(c.name);
    v1::Node node;
    node.set_status(c.status);
    node.set_modify_index(c.node_index);
    if (c.offered) (*node.mutable_host_volumes())["data"].set_id(std::string(c.offered, 16));
    EXPECT_EQ(host_volume_state(volume(c.step), c.has_node ? &node : nullptr), c.state);
  }
  EXPECT_EQ(host_volume_state_text(pending), "pending");
  EXPECT_EQ(host_volume_state_text(unavailable), "unavailable");
}

TEST(HostVolume, IsUsedAsItIsMeant) {
  struct Case {
    const char* has;  // mode of the volume, as a file system
    const char* asked;
    bool read_only;
    HostVolumeFit fit;
  };
  using enum HostVolumeFit;
  const Case cases[] = {
      {"single-node-writer", "", false, fits},
      {"single-node-writer", "", true, wrong_capability},
      {"single-node-reader-only", "", true, fits},
      {"single-node-reader-only", "single-node-reader-only", false, read_only},
      {"single-node-writer", "single-node-writer", true, writes_only},
      {"single-node-writer", "single-node-single-writer", false, wrong_capability},
      {"single-node-single-writer", "single-node-single-writer", true, fits},
      {"single-node-multi-writer", "single-node-multi-writer", false, fits},
  };
  for (const Case& c : cases) {
    SCOPED_TRACE(std::string(c.has) + " " + c.asked);
    v1::DynamicHostVolume row = volume(v1::HOST_VOLUME_STEP_MADE);
    row.add_requested_capabilities()->set_access_mode(c.has);
    row.mutable_requested_capabilities(0)->set_attachment_mode("file-system");
    v1::VolumeRequest request;
    request.set_access_mode(c.asked);
    request.set_read_only(c.read_only);
    EXPECT_EQ(host_volume_fit(row, request), c.fit);
    request.set_attachment_mode("block-device");
    EXPECT_EQ(host_volume_fit(row, request), wrong_capability);
  }
  EXPECT_TRUE(is_host_access_mode("single-node-multi-writer"));
  EXPECT_FALSE(is_host_access_mode("multi-node-multi-writer"));
}

TEST(HostVolume, IsUsedByWhoAsksForItsName) {
  v1::TaskGroup group;
  v1::VolumeRequest& shared = (*group.mutable_volumes())["a"];
  shared.set_type("host");
  shared.set_source("data");
  shared.set_read_only(true);
  v1::VolumeRequest& own = (*group.mutable_volumes())["b"];
  own.set_type("host");
  own.set_source("disk");
  own.set_per_alloc(true);
  own.set_access_mode("single-node-single-writer");
  v1::VolumeRequest& storage = (*group.mutable_volumes())["c"];
  storage.set_type("csi");
  storage.set_source("remote");

  const auto reads = host_volume_use(group, "j.g[2]", "data");
  ASSERT_TRUE(reads);
  EXPECT_FALSE(reads->writes);
  EXPECT_FALSE(reads->is_sole);
  const auto writes = host_volume_use(group, "j.g[2]", "disk[2]");
  ASSERT_TRUE(writes);
  EXPECT_TRUE(writes->writes);
  EXPECT_TRUE(writes->is_sole);
  EXPECT_FALSE(host_volume_use(group, "j.g[2]", "disk[1]"));
  EXPECT_FALSE(host_volume_use(group, "j.g[2]", "disk"));
  EXPECT_FALSE(host_volume_use(group, "j.g[2]", "remote"));
}

}  // namespace
}  // namespace drover
