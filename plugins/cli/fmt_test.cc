#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <iterator>

#include "cli_command.h"
#include "testing/test_host.h"

namespace drover::cli {
namespace {

namespace fs = std::filesystem;

class Fmt : public ::testing::Test {
 protected:
  void SetUp() override {
    std::string form = (fs::temp_directory_path() / "fmt-XXXXXX").string();
    ASSERT_NE(nullptr, mkdtemp(form.data()));
    folder_ = form;
    fs::create_directories(folder_ / "deep");
    write("a.hcl", "a=1\n");
    write("b.nomad", "b = 1\n");
    write("c.txt", "c=1\n");
    write("deep/d.nomad.hcl", "d=1\n");
  }
  void TearDown() override { fs::remove_all(folder_); }

  void write(const std::string& name, const std::string& text) { std::ofstream(folder_ / name) << text; }
  std::string read(const std::string& name) {
    std::ifstream file(folder_ / name);
    return {std::istreambuf_iterator<char>(file), {}};
  }
  int run(std::vector<std::string> words) {
    host_.printed.str("");
    host_.complained.str("");
    return make_command(fmt_commands().front())->run(words, host_);
  }
  std::string path(const std::string& name) { return (folder_ / name).string(); }

  fs::path folder_;
  testing::TestHost host_;
};

TEST_F(Fmt, RewritesTheFilesOfAFolderAndNamesThem) {
  EXPECT_EQ(0, run({folder_.string()}));
  EXPECT_EQ(path("a.hcl") + "\n", host_.printed.str());
  EXPECT_EQ("a = 1\n", read("a.hcl"));
  EXPECT_EQ("c=1\n", read("c.txt"));
  EXPECT_EQ("d=1\n", read("deep/d.nomad.hcl"));

  EXPECT_EQ(0, run({"-recursive", folder_.string()}));
  EXPECT_EQ(path("deep/d.nomad.hcl") + "\n", host_.printed.str());
  EXPECT_EQ("d = 1\n", read("deep/d.nomad.hcl"));
}

TEST_F(Fmt, CheckTellsAndChangesNothing) {
  EXPECT_EQ(1, run({"-check", folder_.string()}));
  EXPECT_EQ(path("a.hcl") + "\n", host_.printed.str());
  EXPECT_EQ("a=1\n", read("a.hcl"));
  EXPECT_EQ(0, run({"-check", path("b.nomad")}));
  EXPECT_EQ(1, run({"-check", "-list=false", path("a.hcl")}));
  EXPECT_EQ("", host_.printed.str());
}

TEST_F(Fmt, WithoutWritingItPrints) {
  EXPECT_EQ(0, run({"-write=false", "-list=false", path("a.hcl")}));
  EXPECT_EQ("a = 1\n", host_.printed.str());
  EXPECT_EQ("a=1\n", read("a.hcl"));
}

TEST_F(Fmt, ADashIsStandardInputAndOutput) {
  host_.input.str("a=1\nbc=2\n");
  EXPECT_EQ(0, run({"-"}));
  EXPECT_EQ("a  = 1\nbc = 2\n", host_.printed.str());
}

TEST_F(Fmt, AFileThatDoesNotParseIsLeftAloneAndTheOthersAreNot) {
  write("0.hcl", "x {\n");
  EXPECT_EQ(1, run({folder_.string()}));
  EXPECT_NE(std::string::npos, host_.complained.str().find("0.hcl:1:3")) << host_.complained.str();
  EXPECT_EQ("x {\n", read("0.hcl"));
  EXPECT_EQ("a = 1\n", read("a.hcl"));
}

TEST_F(Fmt, OtherFilesAndMissingPathsAreRefused) {
  EXPECT_EQ(1, run({path("c.txt")}));
  EXPECT_NE(std::string::npos, host_.complained.str().find("only .nomad and .hcl files")) << host_.complained.str();
  EXPECT_EQ(1, run({path("nothing")}));
  EXPECT_NE(std::string::npos, host_.complained.str().find("no file or folder")) << host_.complained.str();
}

TEST_F(Fmt, KeepsTheFilesPermissions) {
  fs::permissions(folder_ / "a.hcl", fs::perms(0640));
  EXPECT_EQ(0, run({path("a.hcl")}));
  EXPECT_EQ(fs::perms(0640), fs::status(folder_ / "a.hcl").permissions());
}

}  // namespace
}  // namespace drover::cli
