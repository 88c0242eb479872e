#include "drover/process.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>

namespace drover {
namespace {

TEST(Process, ReadsStatWhateverTheNameIs) {
  const std::string rest =
      " S 7 8 9 0 -1 4194560 1 2 3 4 50 60 70 80 20 -5 1 0 123456 1000000 321 18446744073709551615 1 1 0";
  for (const char* name : {"(sh)", "(a b)", "(evil) R 1 2 3)", "()", "(\n)"}) {
    SCOPED_TRACE(name);
    auto stat = parse_stat("42 " + std::string(name) + rest);
    ASSERT_TRUE(stat);
    EXPECT_EQ(42, stat->pid);
    EXPECT_EQ('S', stat->state);
    EXPECT_EQ(7, stat->parent);
    EXPECT_EQ(8, stat->group);
    EXPECT_EQ(9, stat->session);
    EXPECT_EQ(50u, stat->user_ticks);
    EXPECT_EQ(60u, stat->system_ticks);
    EXPECT_EQ(123456u, stat->start_time);
    EXPECT_EQ(321u, stat->resident_pages);
  }
}

TEST(Process, RefusesWhatIsNoStat) {
  for (const char* text : {"", "42", "42 (sh", "42 (sh)", "42 (sh) ", "42 (sh) S 1 2", "x (sh) S 1 2 3"}) {
    SCOPED_TRACE(text);
    EXPECT_FALSE(parse_stat(text));
  }
}

std::vector<pid_t> pids(const std::vector<ProcessStat>& processes) {
  std::vector<pid_t> list;
  for (const ProcessStat& process : processes) list.push_back(process.pid);
  std::ranges::sort(list);
  return list;
}

ProcessStat make(pid_t pid, pid_t parent, pid_t group, pid_t session, uint64_t start_time = 1) {
  return {.pid = pid, .parent = parent, .group = group, .session = session, .start_time = start_time};
}

TEST(Process, ATreeIsDescendantsGroupAndSession) {
  const std::vector<ProcessStat> all = {
      make(100, 1, 100, 100),   make(101, 100, 100, 100),  // the task and its child
      make(103, 102, 103, 103), make(102, 101, 102, 102),  // a session below, seen before its parent
      make(104, 1, 104, 100),                              // lost its parent, kept the session
      make(105, 1, 100, 7),                                // lost its parent, kept the group
      make(106, 105, 106, 106),                            // below that
      make(200, 1, 200, 200),   make(201, 200, 200, 200),
  };
  EXPECT_EQ((std::vector<pid_t>{100, 101, 102, 103, 104, 105, 106}), pids(tree_of(100, 1, all)));
}

TEST(Process, ANumberThatWentToAStrangerHasNoTree) {
  EXPECT_TRUE(tree_of(100, 1, {make(100, 1, 100, 100, 2), make(101, 100, 100, 100, 3)}).empty());
}

TEST(Process, KnowsItselfAndNotANumberOfAnotherTime) {
  auto started = process_start_time(getpid());
  ASSERT_TRUE(started);
  const int fd = open_process(getpid(), *started);
  EXPECT_GE(fd, 0);
  close(fd);
  EXPECT_EQ(-1, open_process(getpid(), *started + 1));
  EXPECT_FALSE(signal_process(getpid(), *started + 1, 9));
  EXPECT_TRUE(signal_process(getpid(), *started, 0));
}

}  // namespace
}  // namespace drover
