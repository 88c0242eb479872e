#include "volumes/volume_text.h"

#include <gtest/gtest.h>

#include "drover/api/allocations.pb.h"
#include "drover/api/volumes.pb.h"
#include "drover/v1/node.pb.h"
#include "volumes/plugin_status.h"

namespace drover::cli {
namespace {

constexpr int64_t kMoment = 1'700'000'000'000'000'000;

TEST(VolumeText, SizesAreInUnitsThatOneReads) {
  EXPECT_EQ(bytes_text(0), "") << "nobody knows";
  EXPECT_EQ(bytes_text(1), "1 B");
  EXPECT_EQ(bytes_text(1023), "1023 B");
  EXPECT_EQ(bytes_text(1536), "1.5 KiB");
  EXPECT_EQ(bytes_text(int64_t{10} << 30), "10.0 GiB");
  EXPECT_EQ(bytes_text(INT64_MAX), "8192.0 PiB");
}

TEST(VolumeText, OneVolumeWithClaimsAndPlaces) {
  v1::Volume volume;
  volume.set_id("data");
  volume.set_namespace_("prod");
  volume.set_plugin_id("p");
  volume.set_capacity(int64_t{1} << 30);
  volume.set_schedulable(true);
  volume.set_controller_required(true);
  volume.set_controllers_healthy(1);
  volume.set_controllers_expected(2);
  volume.mutable_mount_options()->set_fs_type("ext4");
  volume.mutable_mount_options()->add_mount_flags("[REDACTED]");
  (*volume.add_topologies()->mutable_segments())["zone"] = "a";
  (*volume.mutable_topologies(0)->mutable_segments())["rack"] = "1";
  v1::VolumeClaim& claim = *volume.add_claims();
  claim.set_alloc_id(std::string(16, '\x11'));
  claim.set_node_id(std::string(16, '\x22'));
  claim.set_job_id("db");
  claim.set_mode("write");
  claim.set_step("releasing");
  claim.set_since(kMoment);
  claim.set_attempts(3);
  claim.set_last_error("device is busy");
  claim.set_next_try(kMoment + 60'000'000'000);
  const auto pairs = volume_pairs(volume);
  const std::map<std::string, std::string> by_name(pairs.begin(), pairs.end());
  EXPECT_EQ(by_name.at("Capacity"), "1.0 GiB");
  EXPECT_EQ(by_name.at("Controllers Expected"), "2");
  EXPECT_EQ(by_name.at("Mount Options"), "fs_type: ext4 flags: [REDACTED]");
  EXPECT_EQ(by_name.at("External ID"), "<none>");
  EXPECT_EQ(by_name.at("Access Mode"), "<none>");
  EXPECT_FALSE(by_name.contains("Exhausted Since"));
  EXPECT_EQ(
      volume_sections(volume, /*verbose=*/false),
      "\nTopologies\n"
      "Topology  Segments\n"
      "00        rack=1, zone=a\n"
      "\nClaims\n"
      "Alloc ID  Job ID  Node ID   Mode   Step       Since                 Attempts  Next Try              Last Error\n"
      "11111111  db      22222222  write  releasing  2023-11-14T22:13:20Z  3         2023-11-14T22:14:20Z  device is "
      "busy\n"
      "\nAllocations\n"
      "No allocations placed\n");
  EXPECT_NE(volume_sections(volume, /*verbose=*/true).find("11111111-1111-1111-1111-111111111111"), std::string::npos);
}

TEST(VolumeText, APluginTellsThePlacesOfItsNodesWhereOneAsks) {
  v1::CsiPlugin plugin;
  v1::CsiInfo& placed = (*plugin.mutable_nodes())["node-1"];
  placed.set_requires_topologies(true);
  (*placed.mutable_node_info()->mutable_accessible_topology()->mutable_segments())["zone"] = "a";
  (*placed.mutable_node_info()->mutable_accessible_topology()->mutable_segments())["rack"] = "1";
  (*plugin.mutable_nodes())["node-2"];
  const std::string text = storage_plugin_text(plugin, /*is_short=*/false, /*verbose=*/true);
  EXPECT_NE(text.find("\nNode Capabilities\n  volume accessibility constraints\n"), std::string::npos);
  EXPECT_NE(text.find("\nAccessible Topologies\n"
                      "Node ID  Accessible Topology\n"
                      "node-1   rack=1, zone=a\n\n"),
            std::string::npos)
      << text;
  EXPECT_EQ(storage_plugin_text(plugin, false, false).find("Topolog"), std::string::npos);
}

TEST(VolumeText, IdentifiersOfSnapshotsAreCutUnlessOneAsks) {
  v1::VolumeSnapshot snapshot;
  snapshot.set_id(std::string(40, 's'));
  snapshot.set_create_time(1'700'000'000);
  EXPECT_NE(snapshots_text({&snapshot}, false).find(std::string(30, 's') + "  <none>"), std::string::npos);
  EXPECT_NE(snapshots_text({&snapshot}, false).find("2023-11-14T22:13:20Z"), std::string::npos);
  EXPECT_NE(snapshots_text({&snapshot}, true).find(std::string(40, 's')), std::string::npos);
  snapshot.set_external_source_volume_id("vol-1");
  EXPECT_NE(snapshots_text({&snapshot}, false).find("  vol-1  "), std::string::npos);
  snapshot.set_source_volume_id("data");
  EXPECT_NE(snapshots_text({&snapshot}, false).find("  data  "), std::string::npos);
  EXPECT_EQ(snapshots_text({}, false), "No snapshots\n");
}

TEST(VolumeText, ANodeNamesItsPluginsAndWhichAreIll) {
  v1::Node node;
  EXPECT_EQ(controllers_of(node), "");
  (*node.mutable_csi_controller_plugins())["ebs"].set_healthy(true);
  (*node.mutable_csi_node_plugins())["nfs"].set_healthy(false);
  (*node.mutable_csi_node_plugins())["ebs"].set_healthy(true);
  EXPECT_EQ(controllers_of(node), "ebs");
  EXPECT_EQ(drivers_of(node), "ebs,nfs (unhealthy)");
}

TEST(VolumeText, OfAnAllocationItsTasksVolumes) {
  v1::AllocationWithJob whole;
  whole.mutable_allocation()->set_name("web.app[3]");
  whole.mutable_allocation()->set_task_group("app");
  v1::TaskGroup& group = *whole.mutable_job()->add_task_groups();
  group.set_name("app");
  v1::VolumeRequest& data = (*group.mutable_volumes())["d"];
  data.set_type("csi");
  data.set_source("data");
  data.set_per_alloc(true);
  v1::VolumeRequest& certs = (*group.mutable_volumes())["c"];
  certs.set_type("host");
  certs.set_source("certs");
  v1::Task& task = *group.add_tasks();
  task.set_name("main");
  for (const char* name : {"d", "c", "unknown"}) task.add_volume_mounts()->set_volume(name);
  task.mutable_volume_mounts(1)->set_read_only(true);
  const auto volumes = volumes_of(whole, "main");
  ASSERT_EQ(volumes.size(), 2U);
  EXPECT_EQ(volumes[0].id, "data[3]");
  EXPECT_EQ(volumes[0].type, "csi");
  EXPECT_FALSE(volumes[0].is_read_only);
  EXPECT_EQ(volumes[1].id, "certs");
  EXPECT_TRUE(volumes[1].is_read_only);
  EXPECT_TRUE(volumes_of(whole, "other").empty());
}

}  // namespace
}  // namespace drover::cli
