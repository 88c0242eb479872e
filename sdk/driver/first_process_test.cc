#include "first_process.h"

#include <gtest/gtest.h>
#include <sched.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <string>
#include <thread>
#include <vector>

#include "drover/process.h"
#include "sdk/testing/waiting.h"

namespace drover {
namespace {

TEST(FirstProcess, LosesSignalsThatItDoesNotHandle) {
  const std::string first = "NSpid:\t4711\t1\n", other = "NSpid:\t4711\t12\n", machine = "NSpid:\t1\n";
  const std::string none = "SigBlk:\t0000000000000000\nSigIgn:\t0000000000000000\nSigCgt:\t0000000000000000\n";
  const std::string catches = "SigBlk:\t0000000000000000\nSigIgn:\t0000000000000000\nSigCgt:\t0000000000004000\n";
  const std::string ignores = "SigBlk:\t0000000000000000\nSigIgn:\t0000000000004000\nSigCgt:\t0000000000000000\n";
  const std::string blocks = "SigBlk:\t0000000000004000\nSigIgn:\t0000000000000000\nSigCgt:\t0000000000000000\n";
  const struct {
    const char* name;
    std::string status;
    int signal;
    bool expected;
  } cases[] = {
      {"one that ends others", first + none, SIGTERM, true},
      {"another process of the namespace", other + none, SIGTERM, false},
      {"the first one where there are no others", machine + none, SIGTERM, false},
      {"handled", first + catches, SIGTERM, false},
      {"handled, another signal", first + catches, SIGINT, true},
      {"ignored", first + ignores, SIGTERM, false},
      {"blocked, to be waited for", first + blocks, SIGTERM, false},
      {"one that ends nobody", first + none, SIGCONT, false},
      {"one that stops", first + none, SIGTSTP, false},
      {"a status that cannot be read", "", SIGTERM, false},
  };
  for (const auto& c : cases) EXPECT_EQ(c.expected, is_lost_signal(c.status, c.signal)) << c.name;
}

// The first process of a namespace of its own, in which a second thread blocks every signal.
int with_a_thread_that_blocks(void* told) {
  std::thread([told] {
    sigset_t all;
    ::sigfillset(&all);
    ::pthread_sigmask(SIG_BLOCK, &all, nullptr);
    (void)!::write(*static_cast<int*>(told), "1", 1);
    while (true) ::pause();
  }).detach();
  while (true) ::pause();
}

TEST(FirstProcess, EndsThoughAnotherOfItsThreadsBlocksTheSignal) {
  if (::geteuid() != 0) GTEST_SKIP() << "missing: root";
  int ends[2];
  ASSERT_EQ(::pipe(ends), 0);
  std::vector<char> stack(size_t{1} << 20);
  const pid_t pid =
      ::clone(with_a_thread_that_blocks, stack.data() + stack.size(), CLONE_NEWPID | SIGCHLD, &ends[1]);
  ASSERT_GT(pid, 0);
  char ready = 0;
  ASSERT_EQ(::read(ends[0], &ready, 1), 1);
  EXPECT_TRUE(signal_first_process(pid, process_start_time(pid).value_or(0), SIGINT));
  int status = 0;
  const bool has_ended = eventually([&] { return ::waitpid(pid, &status, WNOHANG) == pid; });
  EXPECT_TRUE(has_ended && WIFSIGNALED(status));
  if (!has_ended) ::kill(pid, SIGKILL);
  ::close(ends[0]);
  ::close(ends[1]);
}

}  // namespace
}  // namespace drover
