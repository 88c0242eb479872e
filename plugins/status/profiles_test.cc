#include "profiles.h"

#include <gtest/gtest.h>
#include <unistd.h>

namespace drover::status {
namespace {

TEST(Profiles, AreTakenWhereTheConfigurationAllowsIt) {
  EXPECT_TRUE(may_debug(R"({"EnableDebug": true})"));
  EXPECT_FALSE(may_debug(R"({"EnableDebug": false})"));
  EXPECT_FALSE(may_debug("{}"));
  EXPECT_FALSE(may_debug("none"));
}

TEST(Profiles, CountThreadsByWhatTheyAre) {
  EXPECT_EQ(threads_text({{"pool", 'S', "futex_wait"}, {"raft", 'R'}, {"pool", 'S', "futex_wait"}}),
            "threads: total 3\n2 pool S in futex_wait\n1 raft R\n");
  EXPECT_EQ(state_in("12 (a) b) D 1 2"), 'D');
  EXPECT_EQ(state_in("12 (a)"), '?');
  EXPECT_EQ(state_in(""), '?');
}

TEST(Profiles, ShowWhatThereIs) {
  const auto words = take_profile("cmdline", 0);
  ASSERT_TRUE(words.ok());
  EXPECT_NE(words->find("status_test"), std::string::npos);
  EXPECT_NE(words->back(), '\0');
  const auto threads = take_profile("goroutine", 2);
  ASSERT_TRUE(threads.ok());
  EXPECT_TRUE(threads->starts_with("threads: total 1\n1 status_test R")) << *threads;
  const auto heap = take_profile("heap", 1);
  ASSERT_TRUE(heap.ok());
  EXPECT_TRUE(heap->starts_with("<malloc version=")) << heap->substr(0, 100);
}

TEST(Profiles, SayWhatThereIsNot) {
  const std::string pid = std::to_string(::getpid());
  EXPECT_EQ(take_profile("trace", 1).status(),
            unimplemented("the agent does not trace itself: use perf trace -p " + pid + " on its machine"));
  EXPECT_EQ(take_profile("mutex", 1).status().code(), Code::unimplemented);
  EXPECT_EQ(take_profile("heap", 0).status().code(), Code::unimplemented);
  EXPECT_EQ(take_profile("brain", 1).status(), not_found("Unknown profile: brain"));
}

}  // namespace
}  // namespace drover::status
