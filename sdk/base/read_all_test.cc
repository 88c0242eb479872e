#include "drover/read_all.h"

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <fstream>

namespace drover {
namespace {

TEST(ReadAll, GivesTheRest) {
  std::istringstream text("one\ntwo");
  std::string first;
  std::getline(text, first);
  EXPECT_EQ(read_all(text), "two");
}

TEST(ReadAll, OfAFolderIsNothing) {
  std::ifstream folder("/");
  EXPECT_EQ(read_all(folder), "");
}

TEST(ReadAll, OfAProcessThatHasEndedIsNothing) {
  const pid_t child = ::fork();
  if (child == 0) ::_exit(0);
  std::ifstream status("/proc/" + std::to_string(child) + "/status");
  ASSERT_TRUE(status.is_open());
  ASSERT_EQ(::waitpid(child, nullptr, 0), child);
  EXPECT_EQ(read_all(status), "");
}

}  // namespace
}  // namespace drover
