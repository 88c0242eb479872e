#include "discovery.h"

#include <gtest/gtest.h>
#include <sys/stat.h>

#include <filesystem>
#include <fstream>

#include "drover/config.h"
#include "task_cgroups.h"
#include "topology.h"

namespace drover::plugin_programs {
namespace {

namespace fs = std::filesystem;

class FoldersTest : public ::testing::Test {
 protected:
  FoldersTest() {
    std::string pattern = "/tmp/drover-programs-XXXXXX";
    EXPECT_NE(nullptr, ::mkdtemp(pattern.data()));
    root_ = pattern;
  }
  ~FoldersTest() override { fs::remove_all(root_); }

  void file(const std::string& path, const std::string& text, int mode = 0644) const {
    fs::create_directories(fs::path(root_ + "/" + path).parent_path());
    std::ofstream(root_ + "/" + path) << text;
    EXPECT_EQ(0, ::chmod((root_ + "/" + path).c_str(), static_cast<mode_t>(mode)));
  }

  std::string root_;
};

using Discovery = FoldersTest;

TEST_F(Discovery, TakesExecutableFilesOfTheFirstFolderThatHasThem) {
  file("one/acme", "", 0755);
  file("one/library.so", "", 0755);
  file("one/readme.txt", "", 0644);
  file("one/.hidden", "", 0755);
  file("one/inner/deep", "", 0755);
  file("two/acme", "", 0755);
  file("two/other", "", 0755);
  file("two/off", "", 0755);
  file("two/loose", "", 0775);
  ConfigBlock off{.name = "plugin", .labels = {"off"}};
  off.attributes["enabled"] = {.value = false};
  ConfigBlock other{.name = "plugin", .labels = {"other"}};
  other.attributes["args"] = {.value = hcl::List{"-v"}};
  other.blocks.push_back({.name = "config"});

  const auto found = discover({root_ + "/one", root_ + "/none", root_ + "/two"},
                              ConfigBlock{.blocks = {std::move(off), std::move(other)}});

  ASSERT_EQ(found.programs.size(), 2u);
  EXPECT_EQ(found.programs[0].file, root_ + "/one/acme");
  EXPECT_FALSE(found.programs[0].settings.config.has_value());
  EXPECT_EQ(found.programs[1].file, root_ + "/two/other");
  EXPECT_EQ(found.programs[1].settings.arguments, std::vector<std::string>{"-v"});
  EXPECT_EQ(found.programs[1].settings.config, hcl::Value(hcl::Object()));
  ASSERT_EQ(found.problems.size(), 1u);
  EXPECT_EQ(
      found.problems[0].message(),
      "plugin " + root_ + "/two/loose can be changed by its group or by others: chmod go-w " + root_ + "/two/loose");
}

TEST_F(Discovery, GivesBlocksAsAJobWould) {
  ConfigBlock block;
  block.attributes["a"] = {.value = 1};
  block.blocks.push_back({.name = "volume", .labels = {"x", "y"}});
  block.blocks.push_back({.name = "volume", .labels = {"z"}});
  EXPECT_EQ(hcl::to_json(value_of(block)), R"({"a":1,"volume":[{"x":{"y":{}}},{"z":{}}]})");
}

using Topology = FoldersTest;

TEST_F(Topology, TellsCoresSocketsAndNodes) {
  file("sys/devices/system/node/node0/distance", "10 21\n");
  file("sys/devices/system/node/node1/distance", "21 10\n");
  file("sys/devices/system/cpu/cpu0/topology/physical_package_id", "0\n");
  file("sys/devices/system/cpu/cpu0/cpufreq/base_frequency", "2400000\n");
  file("sys/devices/system/cpu/cpu0/cpufreq/cpuinfo_max_freq", "4000000\n");
  file("sys/devices/system/cpu/cpu0/node0/x", "");
  file("sys/devices/system/cpu/cpu10/topology/physical_package_id", "1\n");
  file("sys/devices/system/cpu/cpu10/node1/x", "");
  file("sys/devices/system/cpu/cpu11/online", "0\n");
  file("sys/devices/system/cpu/cpufreq/x", "");
  file("proc/cpuinfo", "processor : 0\ncpu MHz\t\t: 2593.906\n");

  const auto topology = read_topology(root_);

  EXPECT_EQ(topology.ShortDebugString(),
            "node_ids: 0 node_ids: 1 distances { dimension: 2 values: 10 values: 21 values: 21 values: 10 } "
            "cores { base_speed: 2400 max_speed: 4000 guess_speed: 2593 } "
            "cores { socket_id: 1 node_id: 1 core_id: 10 guess_speed: 2593 }");
}

TEST_F(Topology, IsNeverEmpty) {
  EXPECT_EQ(read_topology(root_).ShortDebugString(), "node_ids: 0 distances { dimension: 1 values: 10 } cores { }");
}

using TaskCgroupsTest = FoldersTest;

TEST_F(Discovery, LeavesAFileAloneWhoseBlockDescribesAnotherKind) {
  file("one/disks", "", 0755);
  ConfigBlock disks{.name = "plugin", .labels = {"disks"}, .place = {.file = "agent.hcl", .line = 7}};
  disks.attributes["kind"] = {.value = "csi"};
  const auto found = discover({root_ + "/one"}, ConfigBlock{.blocks = {std::move(disks)}});
  EXPECT_TRUE(found.programs.empty());
  ASSERT_EQ(found.problems.size(), 1u);
  EXPECT_EQ(found.problems.front().message(),
            root_ + "/one/disks: plugin \"disks\" at agent.hcl:7 is of the kind csi: give one of them another name");
}

TEST_F(TaskCgroupsTest, LiesWhereNomadsLibrariesLook) {
  for (const char* group : {"v2/nomad.slice", "v2/nomad.slice/share.slice"}) {
    fs::create_directories(root_ + "/" + group);
    file(std::string(group) + "/cgroup.subtree_control", "");  // the kernel's
  }
  const TaskCgroups v2({.mode = CgroupLayout::Mode::v2, .v2 = root_ + "/v2"}, "");
  ASSERT_TRUE(v2.prepare().ok());
  ASSERT_TRUE(v2.create("a1", "web").ok());
  EXPECT_EQ(v2.told_path("a1", "web"), root_ + "/v2/nomad.slice/share.slice/a1.web.scope");
  EXPECT_TRUE(fs::is_directory(v2.told_path("a1", "web")));
  v2.remove("a1", "web");
  EXPECT_FALSE(fs::exists(v2.told_path("a1", "web")));

  for (const char* name : {"freezer", "memory", "cpu"}) fs::create_directories(root_ + "/" + name);
  const TaskCgroups v1({.mode = CgroupLayout::Mode::v1,
                        .v1 = {{"freezer", root_ + "/freezer"}, {"memory", root_ + "/memory"}, {"cpu", root_ + "/cpu"}}},
                       "mine");
  ASSERT_TRUE(v1.prepare().ok());
  ASSERT_TRUE(v1.create("a1", "web").ok());
  EXPECT_EQ(v1.told_path("a1", "web"), "");
  EXPECT_TRUE(fs::is_directory(root_ + "/freezer/mine/a1.web"));

  const TaskCgroups none({}, "");
  EXPECT_TRUE(none.prepare().ok());
  EXPECT_EQ(none.told_path("a1", "web"), "");
}

TEST_F(TaskCgroupsTest, SaysWhatItCouldNotMake) {
  const TaskCgroups v2({.mode = CgroupLayout::Mode::v2, .v2 = root_ + "/none"}, "");
  EXPECT_EQ(v2.prepare(), failed_precondition("cannot make the control group " + root_ +
                                              "/none/nomad.slice: No such file or directory"));
}

}  // namespace
}  // namespace drover::plugin_programs
