// Tests the tests: each planted bug (planted.h) must be found by a script, by a random run, or by an invariant. Each
// runs in a process of its own, because a broken invariant ends it.
#include <sys/wait.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <set>

#include "gtest/gtest.h"
#include "kernel/raft/core/test_support.h"
#include "tests/simulation/planted/planted.h"

namespace drover::raft {
namespace {

constexpr uint64_t kSeeds = 300;
constexpr int kByScript = 10;
constexpr int kByRandomRun = 11;

std::string killer_of(Bug bug) {
  const pid_t child = ::fork();
  if (child == 0) {
    std::freopen("/dev/null", "w", stderr);
    plant(bug);
    if (!first_script_that_differs().empty()) std::_Exit(kByScript);
    for (uint64_t seed = 1; seed <= kSeeds; ++seed) {
      if (!run_at_random(seed, 6000).empty()) std::_Exit(kByRandomRun);
    }
    std::_Exit(0);
  }
  int status = 0;
  ::waitpid(child, &status, 0);
  if (WIFSIGNALED(status)) return "an invariant";
  switch (WEXITSTATUS(status)) {
    case kByScript:
      return "a script";
    case kByRandomRun:
      return "a random run";
    default:
      return "";
  }
}

TEST(RaftMutants, NothingIsFoundWhereNothingIsPlanted) { EXPECT_EQ(killer_of(Bug::none), ""); }

TEST(RaftMutants, EveryPlantedBugIsFound) {
  size_t killed = 0;
  for (const Bug bug : all_bugs()) {
    const std::string killer = killer_of(bug);
    std::printf("%-34s %s\n", std::string(to_string(bug)).c_str(), killer.c_str());
    EXPECT_NE(killer, "") << to_string(bug);
    killed += killer.empty() ? 0 : 1;
  }
  std::printf("killed %zu of %zu\n", killed, all_bugs().size());
}

std::set<std::string> marks_in_the_code() {
  const std::string call = "DROVER_REACH(\"";
  std::set<std::string> marks;
  for (const auto& file : std::filesystem::directory_iterator(std::filesystem::path(DROVER_SCRIPTS).parent_path())) {
    if (file.path().extension() != ".cc" || file.path() == __FILE__) continue;
    std::ifstream in(file.path());
    const std::string code{std::istreambuf_iterator<char>(in), {}};
    for (size_t at = code.find(call); at != std::string::npos; at = code.find(call, at + 1)) {
      const size_t begin = at + call.size();
      marks.insert(code.substr(begin, code.find('"', begin) - begin));
    }
  }
  return marks;
}

// A mark that is never reached is a missing test.
TEST(RaftMutants, EveryRareBranchIsReached) {
  first_script_that_differs();
  for (uint64_t seed = 1; seed <= kSeeds; ++seed) run_at_random(seed, 6000);

  std::set<std::string> seen;
  for (const auto& [mark, count] : reached()) {
    std::printf("%8llu %s\n", static_cast<unsigned long long>(count), mark.c_str());
    seen.insert(mark);
  }
  std::set<std::string> marks = marks_in_the_code();
  marks.erase("");
  EXPECT_EQ(seen, marks);
}

}  // namespace
}  // namespace drover::raft
