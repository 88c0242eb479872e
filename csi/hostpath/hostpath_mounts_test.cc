// The program's node service: real mounts and real block devices.
#include <fcntl.h>
#include <linux/fs.h>
#include <sys/ioctl.h>

#include "drover/fd.h"
#include "testing/instance.h"

namespace drover::hostpath {
namespace {

constexpr int64_t kMiB = 1 << 20;

using Mounts = HostpathProgram;
using Blocks = HostpathProgram;
using Shared = HostpathProgram;

// Why it cannot be written; 0: it can.
int write_error(const std::string& path) {
  const Fd file(::open(path.c_str(), O_WRONLY | O_CREAT | O_CLOEXEC, 0600));
  return file ? 0 : errno;
}

TEST_F(Mounts, AVolumeFromItsMakingToItsEnd) {
  Instance instance(place_, "n1");
  const std::string id = make(instance, create("db", kMiB)), target = place_ / "pods/a";
  folder("pods");
  for (int i = 0; i < 2; ++i) {
    EXPECT_EQ(instance.code(stage_at(id, folder("stage"))), Code::ok);
  }
  for (int i = 0; i < 2; ++i) {
    const auto published = instance.ask(publish_at(id, place_ / "stage", target));
    EXPECT_TRUE(published.ok()) << published.status().to_string();
  }
  EXPECT_EQ(place_.mounts().size(), 2u);
  write_text(target + "/file", "hello");
  EXPECT_EQ(text_of(place_ / ("data/volumes/" + id + "/file")), "hello");
  EXPECT_EQ(instance.code(unstage(id, place_ / "stage")), Code::failed_precondition);
  EXPECT_EQ(instance.code(remove(id)), Code::failed_precondition);

  for (int i = 0; i < 2; ++i) {
    EXPECT_EQ(instance.code(unpublish(id, target)), Code::ok);
  }
  EXPECT_FALSE(std::filesystem::exists(target));
  for (int i = 0; i < 2; ++i) {
    EXPECT_EQ(instance.code(unstage(id, place_ / "stage")), Code::ok);
  }
  EXPECT_TRUE(std::filesystem::exists(place_ / "stage")) << "that folder is the host's";
  EXPECT_EQ(place_.mounts().size(), 0u);
  EXPECT_EQ(instance.code(remove(id)), Code::ok);
}

TEST_F(Mounts, ReadOnlyIsReadOnly) {
  Instance instance(place_, "n1");
  const std::string id = make(instance, create("db", kMiB));
  const auto shared = mounted(Mode::MULTI_NODE_MULTI_WRITER);
  ASSERT_EQ(instance.code(stage_at(id, folder("stage"), shared)), Code::ok);
  ASSERT_EQ(instance.code(publish_at(id, place_ / "stage", place_ / "rw", shared)), Code::ok);
  ASSERT_EQ(instance.code(publish_at(id, place_ / "stage", place_ / "ro", shared, true)), Code::ok);
  EXPECT_EQ(write_error(place_ / "rw/file"), 0);
  EXPECT_EQ(write_error(place_ / "ro/file"), EROFS);
  EXPECT_EQ(instance.code(publish_at(id, place_ / "stage", place_ / "ro", shared, false)), Code::already_exists);

  const auto reader = mounted(Mode::SINGLE_NODE_READER_ONLY);
  const std::string other = make(instance, create("other", kMiB));
  ASSERT_EQ(instance.code(stage_at(other, folder("stage2"), reader)), Code::ok);
  ASSERT_EQ(instance.code(publish_at(other, place_ / "stage2", place_ / "reader", reader)), Code::ok);
  EXPECT_EQ(write_error(place_ / "reader/file"), EROFS) << "the mode lets nobody write";
}

TEST_F(Mounts, HonourTheFlags) {
  Instance instance(place_, "n1");
  const std::string id = make(instance, create("db", kMiB));
  auto capability = mounted();
  capability.mutable_mount()->add_mount_flags("noexec");
  ASSERT_EQ(instance.code(stage_at(id, folder("stage"), capability)), Code::ok);
  ASSERT_EQ(instance.code(publish_at(id, place_ / "stage", place_ / "target", capability)), Code::ok);
  write_text(place_ / "target/program", "#!/bin/sh\n");
  ASSERT_EQ(::chmod((place_ / "target/program").c_str(), 0755), 0);
  EXPECT_EQ(::access((place_ / "target/program").c_str(), X_OK), -1);
  EXPECT_EQ(errno, EACCES);
}

TEST_F(Mounts, TellUsage) {
  Instance instance(place_, "n1");
  const std::string id = make(instance, create("db", kMiB));
  ASSERT_EQ(instance.code(stage_at(id, folder("stage"))), Code::ok);
  ASSERT_EQ(instance.code(publish_at(id, place_ / "stage", place_ / "target")), Code::ok);
  write_text(place_ / "target/file", std::string(100'000, 'x'));
  const auto answer = instance.ask(stats(id, place_ / "target"));
  ASSERT_TRUE(answer.ok()) << answer.status().to_string();
  ASSERT_EQ(answer->usage_size(), 2);
  EXPECT_EQ(answer->usage(0).unit(), csi::v1::VolumeUsage::BYTES);
  EXPECT_EQ(answer->usage(0).total(), kMiB);
  EXPECT_GE(answer->usage(0).used(), 100'000);
  EXPECT_LE(answer->usage(0).used() + answer->usage(0).available(), kMiB);
  EXPECT_EQ(answer->usage(1).unit(), csi::v1::VolumeUsage::INODES);
  EXPECT_EQ(answer->usage(1).used(), 2);
  EXPECT_FALSE(answer->volume_condition().abnormal());

  EXPECT_EQ(instance.code(stats(id, place_ / "elsewhere")), Code::not_found);
  EXPECT_EQ(instance.code(stats("gone", place_ / "target")), Code::not_found);
  EXPECT_EQ(instance.code(stats(id, "")), Code::invalid_argument);
  EXPECT_EQ(instance.code(stats("", place_ / "target")), Code::invalid_argument);
  ASSERT_EQ(::umount2((place_ / "target").c_str(), 0), 0);
  EXPECT_EQ(instance.ask(stats(id, place_ / "target"))->volume_condition().message(),
            "the volume is not mounted there any more");
}

TEST_F(Mounts, AreMadeAgainAndUndoneAfterACrashInBetween) {
  Instance instance(place_, "n1");
  const std::string id = make(instance, create("db", kMiB));
  const auto staging = stage_at(id, folder("stage"));
  const auto publishing = publish_at(id, place_ / "stage", place_ / "target", mounted(), true);
  ASSERT_EQ(instance.code(staging), Code::ok);
  ASSERT_EQ(instance.code(publishing), Code::ok);

  // The machine was started anew: the rows are there, the mounts are gone.
  ASSERT_EQ(::umount2((place_ / "target").c_str(), 0), 0);
  ASSERT_EQ(::umount2((place_ / "stage").c_str(), 0), 0);
  EXPECT_EQ(instance.code(publishing), Code::ok);
  EXPECT_EQ(place_.mounts().size(), 2u);

  // Killed between the mount and its flags.
  ASSERT_EQ(::mount(nullptr, (place_ / "target").c_str(), nullptr, MS_REMOUNT | MS_BIND, nullptr), 0);
  ASSERT_EQ(write_error(place_ / "target/file"), 0);
  EXPECT_EQ(instance.code(publishing), Code::ok);
  EXPECT_EQ(write_error(place_ / "target/file"), EROFS);

  // Killed between the unmount and the end of the row.
  ASSERT_EQ(::umount2((place_ / "target").c_str(), 0), 0);
  ASSERT_EQ(::rmdir((place_ / "target").c_str()), 0);
  EXPECT_EQ(instance.code(unpublish(id, place_ / "target")), Code::ok);
  ASSERT_EQ(::umount2((place_ / "stage").c_str(), 0), 0);
  EXPECT_EQ(instance.code(unstage(id, place_ / "stage")), Code::ok);
  EXPECT_EQ(instance.code(remove(id)), Code::ok);
}

TEST_F(Mounts, LeaveAloneWhatIsNotTheirs) {
  Instance instance(place_, "n1");
  const std::string id = make(instance, create("db", kMiB));
  ASSERT_EQ(instance.code(stage_at(id, folder("stage"))), Code::ok);
  EXPECT_EQ(instance.code(publish_at(id, place_ / "stage", place_ / "no/parent")), Code::failed_precondition);
  EXPECT_EQ(instance.code(unpublish(id, place_ / "no/parent")), Code::ok);

  std::filesystem::create_directory_symlink(folder("precious"), place_ / "link");
  EXPECT_EQ(instance.code(publish_at(id, place_ / "stage", place_ / "link")), Code::failed_precondition);
  EXPECT_EQ(place_.mounts().size(), 1u);
  EXPECT_EQ(instance.code(unpublish(id, place_ / "link")), Code::ok);

  ASSERT_EQ(instance.code(publish_at(id, place_ / "stage", place_ / "target")), Code::ok);
  ASSERT_EQ(::umount2((place_ / "target").c_str(), 0), 0);
  write_text(place_ / "target/of-somebody", "x");
  EXPECT_EQ(instance.code(unpublish(id, place_ / "target")), Code::failed_precondition) << "it is not empty";
  EXPECT_TRUE(std::filesystem::exists(place_ / "target/of-somebody"));
}

TEST_F(Mounts, ABusyTargetStays) {
  Instance instance(place_, "n1");
  const std::string id = make(instance, create("db", kMiB));
  ASSERT_EQ(instance.code(stage_at(id, folder("stage"))), Code::ok);
  ASSERT_EQ(instance.code(publish_at(id, place_ / "stage", place_ / "target")), Code::ok);
  {
    const Fd open(::open((place_ / "target").c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
    EXPECT_EQ(instance.code(unpublish(id, place_ / "target")), Code::failed_precondition);
  }
  EXPECT_EQ(instance.code(unpublish(id, place_ / "target")), Code::ok);
}

int64_t size_of_device(const std::string& path) {
  const Fd device(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  uint64_t size = 0;
  return device && ::ioctl(device.get(), BLKGETSIZE64, &size) == 0 ? static_cast<int64_t>(size) : -1;
}

int count_loops(const std::string& file) {
  int count = 0;
  for (const auto& each : std::filesystem::directory_iterator("/sys/block")) {
    const std::string backing = each.path() / "loop/backing_file";
    if (std::filesystem::exists(backing) && text_of(backing) == file + "\n") ++count;
  }
  return count;
}

TEST_F(Blocks, ADeviceFromItsMakingToItsEnd) {
  if (::access("/dev/loop-control", R_OK | W_OK) != 0) GTEST_SKIP() << "block devices need /dev/loop-control";
  Instance instance(place_, "n1");
  const auto capability = block(Mode::SINGLE_NODE_MULTI_WRITER);
  const std::string id = make(instance, create("disk", 4 * kMiB, 0, capability));
  const std::string file = place_ / ("data/volumes/" + id), target = place_ / "disk";
  const auto staging = stage_at(id, folder("stage"), capability);
  const auto publishing = publish_at(id, place_ / "stage", target, capability);
  ASSERT_EQ(instance.code(staging), Code::ok);
  for (int i = 0; i < 2; ++i) {
    const auto published = instance.ask(publishing);
    ASSERT_TRUE(published.ok()) << published.status().to_string();
  }
  EXPECT_EQ(size_of_device(target), 4 * kMiB);
  EXPECT_EQ(count_loops(file), 1);
  ASSERT_EQ(instance.code(publish_at(id, place_ / "stage", place_ / "ro", capability, true)), Code::ok);
  {
    const Fd device(::open(target.c_str(), O_WRONLY | O_SYNC | O_CLOEXEC));
    EXPECT_EQ(::pwrite(device.get(), "hello", 5, 4096), 5);
    const Fd read_only(::open((place_ / "ro").c_str(), O_RDWR | O_CLOEXEC));
    EXPECT_TRUE(!read_only || ::pwrite(read_only.get(), "x", 1, 0) == -1);
  }
  EXPECT_EQ(text_of(file).substr(4096, 5), "hello");

  csi::v1::ControllerExpandVolumeRequest expand;
  expand.set_volume_id(id);
  expand.mutable_capacity_range()->set_required_bytes(6 * kMiB);
  const auto expanded = instance.ask(expand);
  ASSERT_TRUE(expanded.ok()) << expanded.status().to_string();
  EXPECT_TRUE(expanded->node_expansion_required());
  csi::v1::NodeExpandVolumeRequest on_node;
  on_node.set_volume_id(id);
  on_node.set_volume_path(target);
  const auto grown = instance.ask(on_node);
  ASSERT_TRUE(grown.ok()) << grown.status().to_string();
  EXPECT_EQ(grown->capacity_bytes(), 6 * kMiB);
  EXPECT_EQ(size_of_device(target), 6 * kMiB);
  EXPECT_EQ(instance.ask(stats(id, target))->usage(0).total(), 6 * kMiB);
  on_node.set_volume_path(place_ / "elsewhere");
  EXPECT_EQ(instance.code(on_node), Code::not_found);

  instance.kill_and_start();
  EXPECT_EQ(instance.code(publishing), Code::ok);
  EXPECT_EQ(count_loops(file), 2) << "one for each way of use";
  for (const std::string& each : {target, place_ / "ro"}) {
    EXPECT_EQ(instance.code(unpublish(id, each)), Code::ok);
    EXPECT_EQ(instance.code(unpublish(id, each)), Code::ok);
    EXPECT_FALSE(std::filesystem::exists(each));
  }
  EXPECT_EQ(count_loops(file), 0);
  EXPECT_EQ(instance.code(unstage(id, place_ / "stage")), Code::ok);
  EXPECT_EQ(instance.code(remove(id)), Code::ok);
  EXPECT_FALSE(std::filesystem::exists(file));
}

// One controller and two nodes on one folder, as on storage that machines share.
TEST_F(Shared, NodesUseWhatTheControllerMade) {
  Instance controller(place_, "c", {"--attach", "--no-node"});
  Instance first(place_, "n1", {"--attach", "--no-controller", "--controller-elsewhere"});
  Instance second(place_, "n2", {"--attach", "--no-controller", "--controller-elsewhere"});
  const auto capability = mounted(Mode::MULTI_NODE_MULTI_WRITER);
  const std::string id = make(controller, create("db", kMiB, 0, capability));
  int number = 0;
  for (Instance* node : {&first, &second}) {
    const std::string name = "n" + std::to_string(++number);
    const auto attached = controller.ask(attach_to(id, name, capability));
    ASSERT_TRUE(attached.ok()) << attached.status().to_string();
    auto staging = stage_at(id, folder(name + "-stage"), capability);
    auto publishing = publish_at(id, place_ / (name + "-stage"), place_ / name, capability);
    *staging.mutable_publish_context() = *publishing.mutable_publish_context() = attached->publish_context();
    ASSERT_EQ(node->code(staging), Code::ok);
    ASSERT_EQ(node->code(publishing), Code::ok);
  }
  write_text(place_ / "n1/file", "of the first");
  EXPECT_EQ(text_of(place_ / "n2/file"), "of the first");
  EXPECT_EQ(controller.ask(csi::v1::ListVolumesRequest())->entries(0).status().published_node_ids_size(), 2);
  EXPECT_EQ(controller.code(attach_to(id, "c", capability)), Code::not_found) << "it runs no node";

  EXPECT_EQ(first.code(unpublish(id, place_ / "n1")), Code::ok);
  EXPECT_EQ(first.code(unstage(id, place_ / "n1-stage")), Code::ok);
  EXPECT_EQ(controller.code(detach_from(id, "n1")), Code::ok);
  EXPECT_EQ(text_of(place_ / "n2/file"), "of the first");
  EXPECT_EQ(controller.code(remove(id)), Code::failed_precondition);
  EXPECT_EQ(second.code(unpublish(id, place_ / "n2")), Code::ok);
  EXPECT_EQ(second.code(unstage(id, place_ / "n2-stage")), Code::ok);
  EXPECT_EQ(controller.code(detach_from(id, "")), Code::ok);
  EXPECT_EQ(controller.code(remove(id)), Code::ok);
}

}  // namespace
}  // namespace drover::hostpath
