#include "drover/machine_program.h"

#include <gtest/gtest.h>
#include <sys/stat.h>

#include <filesystem>
#include <fstream>

#include "sdk/testing/search_path.h"

namespace drover {
namespace {

using namespace std::chrono_literals;

class MachineProgram : public ::testing::Test {
 protected:
  MachineProgram() {
    char name[] = "/tmp/drover-machine-program-XXXXXX";
    EXPECT_NE(nullptr, mkdtemp(name));
    folder_ = name;
  }
  ~MachineProgram() override { std::filesystem::remove_all(folder_); }
  std::string script(const std::string& name, const std::string& text) const {
    std::string path = folder_ + "/" + name;
    std::filesystem::create_directories(std::filesystem::path(path).parent_path());
    std::ofstream(path) << "#!/bin/sh\n" << text << "\n";
    EXPECT_EQ(0, ::chmod(path.c_str(), 0755));
    return path;
  }

  std::string folder_;
};

TEST_F(MachineProgram, IsFoundByItsRealPath) {
  const std::string real = script("jdk/bin/java", "true");
  std::filesystem::create_directories(folder_ + "/bin");
  std::filesystem::create_symlink("../jdk/bin/java", folder_ + "/bin/java");
  std::filesystem::create_directories(folder_ + "/first/java");  // a folder is no program

  const SearchPath path("bin::" + folder_ + "/first:" + folder_ + "/bin");

  EXPECT_EQ(real, find_machine_program("java").value_or("none"));
}

TEST_F(MachineProgram, IsMissingInTheWordsOfNomad) {
  std::ofstream(folder_ + "/java") << "not to be executed";
  for (const std::string& path : {folder_, std::string()}) {
    const SearchPath only(path);
    EXPECT_EQ(invalid_argument(
                  "failed to resolve path to \"java\" executable: exec: \"java\": executable file not found in $PATH"),
              find_machine_program("java").status());
  }
}

TEST_F(MachineProgram, AnswersWithWhatItWrites) {
  const std::string program = script("speaks", "cat; echo \" and $1\"; echo error >&2");
  EXPECT_EQ("said and more\n", ask_machine_program({.words = {program, "more"}, .input = "said"}).value_or("none"));
  EXPECT_EQ("said and more\nerror\n",
            ask_machine_program({.words = {program, "more"}, .input = "said", .takes_errors = true}).value_or("none"));
}

TEST_F(MachineProgram, FailsWithoutSayingWhatItWrote) {
  const std::string program = script("fails", "echo secret; exit 3");
  EXPECT_EQ(unavailable(program + " failed, with exit code 3"), ask_machine_program({.words = {program}}).status());
  EXPECT_EQ(errno_status(ENOENT, "start " + folder_ + "/none"),
            ask_machine_program({.words = {folder_ + "/none"}}).status());
}

TEST_F(MachineProgram, IsKilledWhenItTakesTooLong) {
  const std::string program = script("waits", "echo $$ > " + folder_ + "/pid; exec sleep 3600");
  EXPECT_EQ(deadline_exceeded(program + " did not answer in time"),
            ask_machine_program({.words = {program}, .limit = 2s}).status());
  std::string pid;
  std::ifstream(folder_ + "/pid") >> pid;
  EXPECT_NE("", pid);
  EXPECT_FALSE(std::filesystem::exists("/proc/" + pid)) << pid;
}

}  // namespace
}  // namespace drover
