#include "drover/program.h"

#include <gtest/gtest.h>
#include <sys/stat.h>

#include <filesystem>
#include <fstream>
#include <thread>

#include "sdk/testing/search_path.h"

namespace drover {
namespace {

using namespace std::chrono_literals;

ProgramRun shell(std::string script) {
  return {.program = "sh", .arguments = {"-c", std::move(script)}, .time = 60s};
}

TEST(Program, ReadsPrintsAndEnds) {
  ProgramRun run = shell("cat; echo trouble >&2; echo \"$COLOUR $HOME\"; exit 3");
  run.input = "hello\n";
  run.environment = {"COLOUR=blue", "PATH=/usr/bin:/bin"};
  const auto end = run_program(run);
  ASSERT_TRUE(end.ok()) << end.status().message();
  EXPECT_EQ(3, end->code);
  EXPECT_EQ("hello\nblue \n", end->output);
  EXPECT_EQ("trouble\n", end->errors);
}

TEST(Program, GetsMoreThanAPipeHolds) {
  const std::string text(3 << 20, 'x');
  ProgramRun run = shell("wc -c; head -c 300000 /dev/zero >&2");
  run.input = text;
  const auto end = run_program(run);
  ASSERT_TRUE(end.ok());
  EXPECT_EQ("3145728\n", end->output);
  EXPECT_EQ(300000U, end->errors.size());
}

TEST(Program, EndsWithASignal) { EXPECT_EQ(137, run_program(shell("kill -9 $$"))->code); }

TEST(Program, IsNotThere) {
  EXPECT_EQ(not_found("there is no program /no/such"),
            run_program({.program = "/no/such", .arguments = {}, .time = 1s}).status());
}

TEST(Program, DoesNotWaitForWhatItLeftBehind) {
  const auto end = run_program(shell("sleep 600 & echo done"));
  ASSERT_TRUE(end.ok());
  EXPECT_EQ("done\n", end->output);
}

TEST(Program, IsKilledInTime) {
  ProgramRun run = shell("sleep 600");
  run.time = 50ms;
  EXPECT_EQ(deadline_exceeded("sh took longer than 50ms"), run_program(run).status());
}

TEST(Program, IsKilledWhenItPrintsTooMuch) {
  ProgramRun run = shell("yes");
  run.longest = 1000;
  EXPECT_EQ(resource_exhausted("sh printed too much"), run_program(run).status());
}

TEST(Program, FailsWithoutSayingWhatItWrote) {
  EXPECT_EQ("said\n", *ask_program(shell("echo said; echo more >&2")));
  EXPECT_EQ(unavailable("sh failed, with exit code 3"), ask_program(shell("echo secret; exit 3")).status());
}

TEST(Program, IsStopped) {
  std::stop_source source;
  std::jthread stops([&] { source.request_stop(); });
  EXPECT_EQ(cancelled("sh was stopped"), run_program(shell("sleep 600"), source.get_token()).status());
}

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

}  // namespace
}  // namespace drover
