#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "cores_hook.h"
#include "drover/v1/allocation.pb.h"
#include "drover/v1/node.pb.h"
#include "nomad/plugins/driver.pb.h"
#include "partition.h"
#include "reservable.h"
#include "sdk/testing/fake_hooks.h"

namespace drover::cores {
namespace {

namespace fs = std::filesystem;

ConfigBlock client(const std::string& reservable, const std::string& kept) {
  ConfigBlock block{.name = "client"};
  if (!reservable.empty()) block.attributes["reservable_cores"] = {.value = reservable};
  ConfigBlock reserved{.name = "reserved"};
  if (!kept.empty()) reserved.attributes["cores"] = {.value = kept};
  block.blocks.push_back(std::move(reserved));
  return block;
}

TEST(Options, SayWhichCoresTasksMayUse) {
  const struct {
    const char* name;
    const char *reservable, *kept;
    const char* want;  // a list, or the error
  } cases[] = {
      {"all", "", "", "0-3"},
      {"some", "1-2", "", "1-2"},
      {"but those that are kept", "", "0,3", "1-2"},
      {"both", "0-2", "0", "1-2"},
      {"no list", "a", "", "client.reservable_cores: \"a\" is neither a core nor a range of cores such as 0-3"},
      {"none kept", "", "1-", "client.reserved.cores: \"1-\" is neither a core nor a range of cores such as 0-3"},
      {"a core that is not there", "2-5", "",
       "client.reservable_cores: this machine has no core 4-5; it has 0-3"},
      {"kept, too", "", "9", "client.reserved.cores: this machine has no core 9; it has 0-3"},
      {"nothing is left", "", "0-3", "client.reserved.cores leaves no core to tasks"},
  };
  for (const auto& c : cases) {
    SCOPED_TRACE(c.name);
    const ConfigBlock block = client(c.reservable, c.kept);
    const auto options = read_options(&block);
    const auto usable = options ? usable_cores(*options, {0, 1, 2, 3}) : Result<CoreList>(options.status());
    EXPECT_EQ(c.want, usable ? format_core_list(*usable) : usable.status().message());
  }
  EXPECT_TRUE(read_options(nullptr).ok());
}

TEST(Fingerprint, TellsTheServers) {
  v1::Node node;
  node.mutable_node_resources()->mutable_cpu()->set_cpu_shares(8000);
  node.mutable_node_resources()->mutable_cpu()->set_total_cpu_cores(4);
  CoresFingerprint fingerprint;
  fingerprint.start({1, 2, 3}, {0});
  ASSERT_TRUE(fingerprint.describe(node).ok());
  EXPECT_EQ("3", node.attributes().at("cpu.reservablecores"));
  EXPECT_EQ(3, node.node_resources().cpu().reservable_cpu_cores_size());
  EXPECT_EQ(0u, node.reserved_resources().cpu().reserved_cpu_cores(0));
  EXPECT_EQ(2000, node.reserved_resources().cpu().cpu_shares()) << "a kept core takes its speed with it";

  node.mutable_reserved_resources()->mutable_cpu()->set_cpu_shares(500);
  ASSERT_TRUE(fingerprint.describe(node).ok());
  EXPECT_EQ(500, node.reserved_resources().cpu().cpu_shares()) << "the operator's word counts";
}

TEST(Partition, HasAGroupForEachTaskWithVersion2) {
  std::string tree = "/tmp/drover-test-XXXXXX";
  ASSERT_TRUE(::mkdtemp(tree.data()));
  const std::string reserve = "/nomad.slice/reserve.slice", task = reserve + "/a.._web.scope";
  for (const std::string& group : {std::string(), std::string("/nomad.slice"), std::string("/nomad.slice/share.slice"),
                                   reserve, task}) {
    fs::create_directories(tree + group);
    // The kernel's.
    for (const char* file : {"/cgroup.subtree_control", "/cpuset.cpus"}) std::ofstream(tree + group + file);
  }
  Partition partition({.mode = CgroupLayout::Mode::v2, .v2 = tree}, "");
  ASSERT_TRUE(partition.open().ok());
  ASSERT_TRUE(partition.limit_to({0, 1}).ok());
  EXPECT_EQ(tree + "/nomad.slice/share.slice/a.web.scope", *partition.share("a.web"));
  EXPECT_EQ(tree + task, *partition.reserve("a../web", {1})) << "no path";
  fs::remove_all(tree);
}

// With the real thing: the kernel checks what is written, and removes a group's files with it.
class RealPartition : public ::testing::Test {
 protected:
  void SetUp() override {
    layout_ = detect_cgroups();
    if (layout_.cpuset.empty()) GTEST_SKIP() << "missing: control groups of processors, version 1, to write to";
    folder_ = layout_.cpuset + "/" + parent_;
  }
  void TearDown() override {
    if (folder_.empty()) return;
    for (const char* group : {"/reserve/a.web", "/reserve/b.web", "/reserve", "/share", ""})
      (void)::rmdir((folder_ + group).c_str());
  }
  std::string cores_of(const std::string& group) const {
    std::ifstream file(folder_ + "/" + group + "/cpuset.cpus");
    std::string line;
    std::getline(file, line);
    return line;
  }

  CgroupLayout layout_;
  const std::string parent_ = "drover-test-cores-" + std::to_string(::getpid());
  std::string folder_;
};

TEST_F(RealPartition, GivesAndTakesCores) {
  Partition partition(layout_, parent_);
  ASSERT_TRUE(partition.open().ok());
  const CoreList machine = *partition.machine();
  if (machine.size() < 2) GTEST_SKIP() << "missing: two processors";
  const CoreList first = {machine[0]}, others = without(machine, first);
  ASSERT_TRUE(partition.limit_to(machine).ok());
  EXPECT_EQ(folder_ + "/share", *partition.share("b.web"));
  EXPECT_EQ(format_core_list(machine), cores_of("share"));

  EXPECT_EQ(folder_ + "/reserve/a.web", *partition.reserve("a.web", first));
  EXPECT_EQ(folder_ + "/reserve/a.web", *partition.reserve("a.web", first)) << "again, after a restart";
  EXPECT_EQ(format_core_list(first), cores_of("reserve/a.web"));
  EXPECT_EQ(format_core_list(others), cores_of("share"));

  // The next agent sees the cores that are held.
  Partition other(layout_, parent_);
  ASSERT_TRUE(other.limit_to(machine).ok());
  EXPECT_EQ(format_core_list(others), cores_of("share"));

  // Nothing is left for others: whoever is there still ends where it is.
  ASSERT_TRUE(partition.reserve("b.web", others).ok());
  EXPECT_EQ(format_core_list(others), cores_of("share"));
  partition.release("b.web");
  partition.release("a.web");
  partition.release("a.web");
  EXPECT_EQ(format_core_list(machine), cores_of("share"));
  ASSERT_EQ(0, ::rmdir((folder_ + "/share").c_str()));
  EXPECT_EQ(folder_ + "/share", *partition.share("c.web")) << "made again";
  EXPECT_EQ(format_core_list(machine), cores_of("share"));
}

TEST_F(RealPartition, IsWhatDriversAreTold) {
  Partition partition(layout_, parent_);
  ASSERT_TRUE(partition.open().ok());
  const CoreList machine = *partition.machine();
  ASSERT_TRUE(partition.limit_to(machine).ok());
  CoresHook hook;
  hook.start(&partition);

  v1::Allocation alloc;
  alloc.set_id(std::string(16, 'a'));
  auto& tasks = *alloc.mutable_allocated_resources()->mutable_tasks();
  tasks["web"].mutable_cpu()->add_reserved_cores(machine[0]);
  tasks["log"].mutable_cpu()->set_cpu_shares(100);
  const auto spec = std::make_shared<const AllocSpec>(alloc, std::make_shared<const v1::Job>());
  testing::FakeTask web("", "web", spec), log("", "log", spec);
  testing::FakeState state;
  const auto told = [](TaskHook::Part& part) {
    testing::FakeStart start;
    EXPECT_TRUE(start.prestart(part).ok());
    return start.adds.resources().linux_resources().cpuset_cgroup();
  };
  const auto one = hook.attach(web, state), other = hook.attach(log, state);
  const std::string group = web.allocation().to_string() + ".web";
  EXPECT_EQ(folder_ + "/reserve/" + group, told(*one));
  EXPECT_EQ(folder_ + "/share", told(*other));
  EXPECT_EQ(format_core_list({machine[0]}), cores_of("reserve/" + group));
  EXPECT_TRUE(one->stop().ok());
  EXPECT_TRUE(other->stop().ok());
  EXPECT_FALSE(fs::exists(folder_ + "/reserve/" + group));

  CoresHook nothing;
  nothing.start(nullptr);
  EXPECT_EQ(nullptr, nothing.attach(web, state));
}

TEST_F(RealPartition, FindsWhatACrashLeft) {
  const CoreList machine = [&] {
    Partition before(layout_, parent_);
    EXPECT_TRUE(before.open().ok());
    CoreList all = *before.machine();
    EXPECT_TRUE(before.limit_to(all).ok());
    EXPECT_TRUE(before.reserve("a.web", {all[0]}).ok());
    return all;
  }();
  Partition after(layout_, parent_);
  ASSERT_TRUE(after.open().ok());
  ASSERT_TRUE(after.limit_to(machine).ok());
  EXPECT_FALSE(fs::exists(folder_ + "/reserve/a.web")) << "its task has ended";
  EXPECT_EQ(format_core_list(machine), cores_of("share"));
}

TEST_F(RealPartition, SaysWhatTheKernelRefuses) {
  Partition partition(layout_, parent_);
  ASSERT_TRUE(partition.open().ok());
  const Status status = partition.reserve("a.web", {8000}).status();
  EXPECT_EQ(Code::failed_precondition, status.code());
  EXPECT_TRUE(status.message().starts_with("cannot write \"8000\" to " + folder_)) << status.message();
  EXPECT_FALSE(fs::exists(folder_ + "/reserve/a.web"));
}

TEST(Partition, NeedsControlGroups) {
  EXPECT_EQ(failed_precondition("no control groups for processors (cpuset) that may be written"),
            Partition({}, "").open());
}

}  // namespace
}  // namespace drover::cores
