#include "drover/program.h"

#include <gtest/gtest.h>

#include <thread>

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

TEST(Program, IsStopped) {
  std::stop_source source;
  std::jthread stops([&] { source.request_stop(); });
  EXPECT_EQ(cancelled("sh was stopped"), run_program(shell("sleep 600"), source.get_token()).status());
}

}  // namespace
}  // namespace drover
