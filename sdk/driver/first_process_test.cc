#include "first_process.h"

#include <gtest/gtest.h>

#include <csignal>
#include <string>

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

}  // namespace
}  // namespace drover
