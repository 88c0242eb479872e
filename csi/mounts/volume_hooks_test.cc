#include "volume_hooks.h"

#include "drover/v1/allocation.pb.h"
#include "drover/v1/job.pb.h"
#include "gtest/gtest.h"
#include "nomad/plugins/driver.pb.h"
#include "sdk/testing/fake_hooks.h"
#include "sdk/testing/waiting.h"
#include "testing/node_world.h"

namespace drover::mounts {
namespace {

using drover::testing::FakeState;
using drover::testing::FakeTask;
using testing::NodeWorld;

class FakeAlloc final : public HookedAlloc {
 public:
  explicit FakeAlloc(v1::TaskGroup group) {
    v1::Allocation allocation;
    allocation.set_id(id_.bytes());
    allocation.set_namespace_("default");
    allocation.set_name("job.g[2]");
    allocation.set_task_group("g");
    auto job = std::make_shared<v1::Job>();
    group.set_name("g");
    *job->add_task_groups() = std::move(group);
    spec_ = std::make_shared<AllocSpec>(std::move(allocation), std::move(job));
  }
  Uuid id() const override { return id_; }
  AllocSpecPtr spec() const override { return spec_; }
  const AllocFolders& folders() const override { return folders_; }
  bool is_restored() const override { return false; }
  void share_network(const driver::NetworkIsolationSpec&) override {}
  std::optional<driver::NetworkIsolationSpec> shared_network() const override { return std::nullopt; }
  void describe_network(const v1::NetworkStatus&) override {}
  v1::NetworkStatus network_status() const override { return {}; }
  void tell(const v1::TaskEvent& event) override { told.push_back(event.type() + ": " + event.display_message()); }

  std::vector<std::string> told;

 private:
  const Uuid id_ = Uuid::random();
  const AllocFolders folders_;
  AllocSpecPtr spec_;
};

v1::VolumeRequest request(const std::string& source, bool per_alloc = false) {
  v1::VolumeRequest out;
  out.set_type("csi");
  out.set_source(source);
  out.set_access_mode("multi-node-multi-writer");
  out.set_attachment_mode("file-system");
  out.set_per_alloc(per_alloc);
  return out;
}

// A group whose task mounts "disk", a volume of that request, at /srv.
v1::TaskGroup group_with(const v1::VolumeRequest& volume) {
  v1::TaskGroup group;
  (*group.mutable_volumes())["disk"] = volume;
  v1::Task& task = *group.add_tasks();
  task.set_name("web");
  task.set_driver("some_driver");
  v1::VolumeMount& mount = *task.add_volume_mounts();
  mount.set_volume("disk");
  mount.set_destination("/srv");
  mount.set_propagation_mode("private");
  return group;
}

class VolumeHooksTest : public ::testing::Test {
 protected:
  VolumeHooksTest() {
    allocs_.start(world_.host.clock(), *world_.keeper);
    tasks_.start(*world_.keeper);
  }
  Status prestart(const FakeAlloc& alloc, driver::DriverCapabilities::MountConfigs mounts, bool recovered = false) {
    FakeTask task("", "web", alloc.spec());
    const auto part = tasks_.attach(task, state_);
    driver::DriverCapabilities capabilities;
    capabilities.set_mount_configs(mounts);
    const Variables none;
    adds_.Clear();
    TaskPrestart start{.capabilities = capabilities,
                       .environment = none,
                       .node = none,
                       .recovered = recovered,
                       .stop = {},
                       .adds = adds_};
    return part->prestart(start);
  }

  NodeWorld world_;
  VolumesHook allocs_;
  VolumeMountsHook tasks_;
  FakeState state_;
  driver::TaskConfig adds_;
};

TEST_F(VolumeHooksTest, MountAndGiveBack) {
  FakeAlloc alloc(group_with(request("data", /*per_alloc=*/true)));
  const auto part = allocs_.attach(alloc, state_);
  ASSERT_TRUE(part->prerun({}).ok());

  ASSERT_TRUE(prestart(alloc, driver::DriverCapabilities::ANY_MOUNTS).ok());
  ASSERT_EQ(adds_.mounts_size(), 1);
  EXPECT_EQ(adds_.mounts(0).host_path(), world_.base() + "/per-alloc/" + alloc.id().to_string() +
                                             "/data[2]/rw-file-system-multi-node-multi-writer");
  EXPECT_EQ(adds_.mounts(0).task_path(), "/srv");
  EXPECT_FALSE(adds_.mounts(0).readonly());
  EXPECT_EQ(adds_.mounts(0).propagation_mode(), "private");
  EXPECT_TRUE(part->postrun().ok());
  EXPECT_TRUE(part->postrun().ok());
  EXPECT_TRUE(world_.is_clean());
}

TEST_F(VolumeHooksTest, AreReadOnlyAsSoonAsTheGroupSaysSo) {
  v1::VolumeRequest reads = request("data");
  reads.set_read_only(true);
  FakeAlloc alloc(group_with(reads));
  const auto part = allocs_.attach(alloc, state_);
  ASSERT_TRUE(part->prerun({}).ok());
  ASSERT_TRUE(prestart(alloc, driver::DriverCapabilities::ANY_MOUNTS).ok());
  EXPECT_TRUE(adds_.mounts(0).readonly());
  csi::v1::NodePublishVolumeRequest asked;
  ASSERT_TRUE(asked.ParseFromString(world_.plugin.last_request("NodePublishVolume")));
  EXPECT_TRUE(asked.readonly());
}

TEST_F(VolumeHooksTest, RefuseADriverWithoutMounts) {
  FakeAlloc alloc(group_with(request("data")));
  const auto part = allocs_.attach(alloc, state_);
  ASSERT_TRUE(part->prerun({}).ok());
  EXPECT_EQ(prestart(alloc, driver::DriverCapabilities::NO_MOUNTS),
            invalid_argument("task driver \"some_driver\" for \"web\" does not support CSI volumes"));
}

TEST_F(VolumeHooksTest, NeverStartATaskWithoutItsVolume) {
  FakeAlloc alloc(group_with(request("data")));
  EXPECT_EQ(prestart(alloc, driver::DriverCapabilities::ANY_MOUNTS).code(), Code::not_found);
  EXPECT_TRUE(prestart(alloc, driver::DriverCapabilities::ANY_MOUNTS, /*recovered=*/true).ok());
}

TEST_F(VolumeHooksTest, HaveNothingToDoWithoutSuchVolumes) {
  v1::TaskGroup group = group_with(request("data"));
  group.mutable_volumes()->at("disk").set_type("host");
  FakeAlloc alloc(group);
  EXPECT_EQ(allocs_.attach(alloc, state_), nullptr);
}

TEST_F(VolumeHooksTest, ShareOneVolumeOfTwoBlocksButNotInTwoWays) {
  v1::TaskGroup group = group_with(request("data"));
  (*group.mutable_volumes())["again"] = request("data");
  FakeAlloc same(group);
  EXPECT_TRUE(allocs_.attach(same, state_)->prerun({}).ok());
  EXPECT_EQ(world_.plugin.published().size(), 1u);
  group.mutable_volumes()->at("again").set_read_only(true);
  FakeAlloc different(group);
  EXPECT_EQ(allocs_.attach(different, state_)->prerun({}),
            invalid_argument("the volume \"data\" is asked for in two ways"));
}

TEST_F(VolumeHooksTest, SayWhatTheyWaitFor) {
  world_.servers.fail("Claim", failed_precondition("volume max claims reached"));
  FakeAlloc alloc(group_with(request("data")));
  ASSERT_TRUE(allocs_.attach(alloc, state_)->prerun({}).ok());
  EXPECT_EQ(alloc.told, std::vector<std::string>{"Volume: Waiting for volume \"data\": volume max claims reached"});
}

TEST_F(VolumeHooksTest, KeepTheMountsOfAnAllocationThatTheAgentLeavesRunning) {
  FakeAlloc alloc(group_with(request("data")));
  auto part = allocs_.attach(alloc, state_);
  ASSERT_TRUE(part->prerun({}).ok());
  part->shutdown();
  part.reset();
  world_.keeper->settled();
  world_.keeper->plugins_changed();
  world_.keeper->stop();
  EXPECT_EQ(world_.plugin.published().size(), 1u);
  EXPECT_EQ(world_.servers.claims(), 1u);
}

}  // namespace
}  // namespace drover::mounts
