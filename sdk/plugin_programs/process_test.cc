// A plugin's process gets as little as possible of ours.
#include "drover/plugin_programs/process.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

namespace drover::plugin_programs {
namespace {

// Runs a line of shell; what it printed, and how it ended.
std::string run(const std::string& line, Confinement confinement = {}, std::string* how = nullptr) {
  auto process = Process::start({.file = "/bin/sh",
                                 .name = "acme",
                                 .arguments = {"-c", line},
                                 .environment = {{"PATH", "/usr/bin:/bin"}},
                                 .confinement = std::move(confinement)});
  if (!process) return process.status().to_string();
  std::string out;
  while (true) {
    pollfd readable{.fd = (*process)->out(), .events = POLLIN, .revents = 0};
    if (::poll(&readable, 1, 30'000) <= 0) return "it says nothing";
    char chunk[4096];
    const ssize_t size = ::read((*process)->out(), chunk, sizeof(chunk));
    if (size < 0 && errno == EAGAIN) continue;
    if (size <= 0) break;
    out.append(chunk, static_cast<size_t>(size));
  }
  const std::string end = (*process)->collect();
  if (how) *how = end;
  return out;
}

TEST(Process, GetsThreeStreamsAndNothingElse) {
  const int leaked = ::open("/dev/null", O_RDONLY);  // without the flag that closes it
  ASSERT_GE(leaked, 3);

  // The shell opens one more, to look.
  EXPECT_EQ("0 1 2 3 ", run("for fd in $(ls /proc/self/fd); do printf '%s ' $fd; done"));
  EXPECT_EQ("/dev/null\n", run("readlink /proc/self/fd/0"));
  ::close(leaked);
}

TEST(Process, LeadsASessionOfItsOwn) {
  EXPECT_EQ("own\n", run("set -- $(cat /proc/$$/stat); [ $6 = $$ ] && [ $5 = $$ ] && echo own"));
}

TEST(Process, HasALimitOfDescriptorsNoDumpsAndAPlainMask) {
  EXPECT_EQ("100 100\n0\n0022\n", run("echo $(ulimit -Hn) $(ulimit -Sn); ulimit -c; umask", {.open_files = 100}));
}

TEST(Process, GivesNoNewPrivilegesWhereItIsTold) {
  const std::string line = "grep NoNewPrivs /proc/self/status | tr -d '\\t '";
  EXPECT_EQ("NoNewPrivs:1\n", run(line, {.no_new_privileges = true}));
  EXPECT_EQ("NoNewPrivs:0\n", run(line));
}

TEST(Process, RunsAsAnotherUserWithoutOurGroups) {
  if (::geteuid() != 0) GTEST_SKIP() << "only root may become another user";
  EXPECT_EQ("4711 4712 4712\n", run("echo $(id -u) $(id -g) $(id -G)",
                                    {.user = Confinement::User{.id = 4711, .group = 4712, .groups = {4712}}}));
}

TEST(Process, IsTheFirstToGoWhereItIsTold) {
  EXPECT_EQ("500\n", run("cat /proc/self/oom_score_adj", {.oom_score = 500}));
}

TEST(Process, SaysWhichStepFailed) {
  EXPECT_EQ(
      "failed_precondition: cannot start /bin/sh: join the control group /nowhere/cgroup.procs: No such file or "
      "directory",
      run("true", {.cgroup_files = {"/nowhere/cgroup.procs"}}));
  const auto missing = Process::start({.file = "/nowhere/acme"});
  EXPECT_EQ("cannot start /nowhere/acme: No such file or directory", missing.status().message());
}

TEST(Process, SaysHowItEnded) {
  std::string how;
  EXPECT_EQ("", run("exit 3", {}, &how));
  EXPECT_EQ("exit code 3", how);
  EXPECT_EQ("", run("kill -TERM $$", {}, &how));
  EXPECT_EQ("signal 15 (Terminated)", how);
}

// The open file is run, and not the one that lies at its path by then.
TEST(Process, RunsTheFileThatWasOpened) {
  char name[] = "/tmp/drover-process-XXXXXX";
  const std::string folder = ::mkdtemp(name), file = folder + "/acme";
  const auto write = [&](const std::string& text) {
    std::ofstream(file + "~") << text;
    ::chmod((file + "~").c_str(), 0755);
    std::filesystem::rename(file + "~", file);
  };
  write("#!/bin/sh\nexit 1\n");
  const int image = ::open(file.c_str(), O_RDONLY | O_CLOEXEC);
  const auto code = [&] {
    auto process = Process::start({.file = file, .image = image});
    if (!process) return process.status().to_string();
    pollfd ended{.fd = (*process)->ended_fd(), .events = POLLIN, .revents = 0};
    return ::poll(&ended, 1, 30'000) == 1 ? (*process)->collect() : std::string("it does not end");
  };

  EXPECT_EQ("exit code 1", code());
  write("#!/bin/sh\nexit 2\n");
  EXPECT_EQ("exit code 1", code());

  ::close(image);
  std::filesystem::remove_all(folder);
}

}  // namespace
}  // namespace drover::plugin_programs
