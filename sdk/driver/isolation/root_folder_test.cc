#include "root_folder.h"

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

namespace drover {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kPasswd =
    "root:x:0:0:root:/root:/bin/sh\nweb:x:1000:1001::/:\nbroken:x:\nnobody:x:65534:65534::/:\n";
constexpr std::string_view kGroup = "root:x:0:\nweb:x:1001:web\ndialout:x:20:web,root\nvideo:x:44:nobody\n";

TEST(FindUserAmong, ReadsTheRootsOwnFiles) {
  const struct {
    std::string_view name;
    uint32_t id, group;
    std::vector<uint32_t> groups;
  } cases[] = {
      {"root", 0, 0, {0, 20}},          {"web", 1000, 1001, {1001, 20}},
      {"1000", 1000, 1001, {1001, 20}}, {"nobody", 65534, 65534, {65534, 44}},
      {"4711", 4711, 65534, {65534}},
  };
  for (const auto& c : cases) {
    SCOPED_TRACE(c.name);
    const auto user = find_user_among(c.name, kPasswd, kGroup);
    ASSERT_TRUE(user.ok()) << user.status().to_string();
    EXPECT_EQ(c.id, user->id);
    EXPECT_EQ(c.group, user->group);
    EXPECT_EQ(c.groups, user->groups);
  }
  for (const char* name : {"broken", "other", ""})
    EXPECT_EQ("unable to find user " + std::string(name) + ": no matching entries in passwd file",
              find_user_among(name, kPasswd, kGroup).status().message());
}

class RootFolderTest : public ::testing::Test {
 protected:
  RootFolderTest() {
    char name[] = "/tmp/drover-root-XXXXXX";
    EXPECT_NE(nullptr, mkdtemp(name));
    path_ = name;
  }
  ~RootFolderTest() override { fs::remove_all(path_); }

  void file(const std::string& where, mode_t mode = 0755) const {
    fs::create_directories((fs::path(path_) / where).parent_path());
    std::ofstream(path_ + "/" + where) << "#!\n";
    (void)::chmod((path_ + "/" + where).c_str(), mode);
  }
  std::string found(const std::string& name, const std::vector<RootFolder::Shown>& shown = {}) const {
    const auto root = RootFolder::open(path_, shown);
    EXPECT_TRUE(root.ok());
    const auto program = root->find_program(name);
    return program.ok() ? *program : program.status().message();
  }

  std::string path_;
};

TEST_F(RootFolderTest, LooksForProgramsInOrder) {
  file("bin/tool");
  EXPECT_EQ("/bin/tool", found("tool"));
  file("usr/bin/tool");
  EXPECT_EQ("/usr/bin/tool", found("tool"));
  EXPECT_EQ("/bin/tool", found("/bin/tool"));
  file("tool");
  EXPECT_EQ("/tool", found("tool"));
  file("local/tool");
  EXPECT_EQ("/local/tool", found("tool"));
  EXPECT_EQ("file none not found under path", found("none"));
  EXPECT_EQ("file bin/none not found under path " + path_, found("bin/none"));
}

TEST_F(RootFolderTest, FollowsLinksInsideOnly) {
  file("opt/tool");
  fs::create_directories(path_ + "/bin");
  fs::create_symlink("/opt/tool", path_ + "/bin/tool");
  EXPECT_EQ("/bin/tool", found("tool"));
  // The machine has this one, the root does not.
  fs::create_symlink("/proc/self/exe", path_ + "/bin/outside");
  fs::create_symlink("../../../../../../bin/sh", path_ + "/bin/climbs");
  EXPECT_EQ("file outside not found under path", found("outside"));
  EXPECT_EQ("file climbs not found under path", found("climbs"));
}

TEST_F(RootFolderTest, FindsProgramsInWhatIsShown) {
  file("elsewhere/bin/tool");
  EXPECT_EQ("/opt/bin/tool", found("/opt/bin/tool", {{"/opt", path_ + "/elsewhere"}}));
  EXPECT_EQ("/opt/bin/tool", found("bin/tool", {{"/opt", path_ + "/elsewhere"}}));
}

TEST_F(RootFolderTest, FollowsLinksThroughWhatIsShown) {
  const std::vector<RootFolder::Shown> shown = {
      {"/usr", path_ + "/machine/usr"}, {"/etc", path_ + "/machine/etc"}, {"/bin", path_ + "/machine/bin"}};
  file("machine/usr/bin/mawk");
  fs::create_directories(path_ + "/machine/etc/alternatives");
  fs::create_symlink("/etc/alternatives/awk", path_ + "/machine/usr/bin/awk");
  fs::create_symlink("/usr/bin/mawk", path_ + "/machine/etc/alternatives/awk");
  fs::create_symlink("usr/bin", path_ + "/machine/bin");  // a mount follows it on the machine
  EXPECT_EQ("/usr/bin/awk", found("awk", shown));
  EXPECT_EQ("/bin/mawk", found("/bin/mawk", shown));
  fs::create_symlink("../../../bin/none", path_ + "/machine/usr/bin/climbs");
  EXPECT_EQ("file climbs not found under path", found("climbs", shown));
  fs::create_symlink("loop", path_ + "/machine/usr/bin/loop");
  EXPECT_EQ("file loop not found under path", found("loop", shown));
  fs::create_directories(path_ + "/local");
  fs::create_symlink("/usr/bin/mawk", path_ + "/local/mine");
  EXPECT_EQ("/local/mine", found("mine", shown));
  file("machine/usr/bin/plain", 0644);
  EXPECT_EQ("file plain not found under path", found("plain", shown));
  struct stat info {};
  ASSERT_EQ(0, ::stat((path_ + "/machine/usr/bin/plain").c_str(), &info));
  EXPECT_EQ(0644U, info.st_mode & 0777U) << "the machine's file is left alone";
}

TEST_F(RootFolderTest, ReadsUsersInWhatIsShown) {
  fs::create_directories(path_ + "/machine/etc");
  std::ofstream(path_ + "/machine/etc/passwd") << kPasswd;
  std::ofstream(path_ + "/machine/etc/group") << kGroup;
  const auto root = RootFolder::open(path_, {{"/etc", path_ + "/machine/etc"}});
  ASSERT_TRUE(root.ok());
  EXPECT_EQ(1000U, root->find_user("web")->id);
}

TEST_F(RootFolderTest, MakesItsOwnFilesExecutableAndNoOthers) {
  file("local/own", 0644);
  EXPECT_EQ("/local/own", found("own"));
  struct stat info {};
  ASSERT_EQ(0, ::stat((path_ + "/local/own").c_str(), &info));
  EXPECT_EQ(0755U, info.st_mode & 0777U);
  file("local/linked", 0644);
  fs::create_hard_link(path_ + "/local/linked", path_ + "/another-name");
  EXPECT_EQ("file linked not found under path", found("linked"));
  ASSERT_EQ(0, ::stat((path_ + "/local/linked").c_str(), &info));
  EXPECT_EQ(0644U, info.st_mode & 0777U);
}

TEST_F(RootFolderTest, KnowsNobodyWithoutFiles) {
  const auto root = RootFolder::open(path_);
  ASSERT_TRUE(root.ok());
  EXPECT_EQ(65534U, root->find_user("nobody")->id);
  EXPECT_FALSE(root->find_user("root").ok());
}

}  // namespace
}  // namespace drover
