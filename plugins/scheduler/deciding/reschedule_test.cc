#include "reschedule.h"

#include <gtest/gtest.h>

#include "testing/fixtures.h"

namespace drover::scheduler {
namespace {

constexpr int64_t kSecond = 1'000'000'000;
constexpr int64_t kNow = 1'000'000 * kSecond;

TEST(Reschedule, DelaysGrowByTheirFunction) {
  struct Case {
    const char* function;
    std::vector<int64_t> before;  // seconds
    int64_t delay;
  };
  const Case cases[] = {{"constant", {}, 30},        {"constant", {30, 30}, 30},     {"exponential", {}, 30},
                        {"exponential", {30}, 60},   {"exponential", {30, 60}, 120}, {"exponential", {240}, 300},
                        {"fibonacci", {}, 30},       {"fibonacci", {30}, 30},        {"fibonacci", {30, 30}, 60},
                        {"fibonacci", {30, 60}, 90}, {"fibonacci", {180, 270}, 300}, {"fibonacci", {300, 30}, 30}};
  for (const Case& c : cases) {
    SCOPED_TRACE(c.function + std::to_string(c.before.size()));
    v1::ReschedulePolicy policy;
    policy.set_unlimited(true);
    policy.set_delay(30 * kSecond);
    policy.set_max_delay(300 * kSecond);
    policy.set_delay_function(c.function);
    v1::Allocation alloc;
    alloc.set_modify_time(kNow);
    for (const int64_t delay : c.before) {
      v1::RescheduleEvent& event = *alloc.mutable_reschedule_tracker()->add_events();
      event.set_delay(delay * kSecond);
      event.set_reschedule_time(kNow - 10 * kSecond);
    }
    EXPECT_EQ(next_delay(alloc, policy) / kSecond, c.delay);
  }
}

TEST(Reschedule, BeginsAgainAfterALongRun) {
  v1::ReschedulePolicy policy;
  policy.set_unlimited(true);
  policy.set_delay(30 * kSecond);
  policy.set_max_delay(60 * kSecond);
  policy.set_delay_function("exponential");
  v1::Allocation alloc;
  alloc.set_modify_time(kNow);
  v1::RescheduleEvent& event = *alloc.mutable_reschedule_tracker()->add_events();
  event.set_delay(60 * kSecond);
  event.set_reschedule_time(kNow - 1000 * kSecond);
  EXPECT_EQ(next_delay(alloc, policy), 30 * kSecond);
}

TEST(Reschedule, AttemptsCountWithinTheirInterval) {
  struct Case {
    const char* name;
    int attempts;
    int64_t interval;                // seconds
    std::vector<int64_t> tried_ago;  // seconds
    bool again;
  };
  const Case cases[] = {{"the first try", 1, 600, {}, true},
                        {"one left", 2, 600, {100}, true},
                        {"used up", 2, 600, {300, 100}, false},
                        {"long ago", 2, 600, {900, 100}, true},
                        {"a delay as long as the interval never ends", 5, 30, {100}, false},
                        {"no attempts at all", 0, 600, {}, false}};
  for (const Case& c : cases) {
    SCOPED_TRACE(c.name);
    v1::ReschedulePolicy policy;
    policy.set_attempts(c.attempts);
    policy.set_interval(c.interval * kSecond);
    policy.set_delay(30 * kSecond);
    policy.set_delay_function("constant");
    v1::Allocation alloc;
    alloc.set_modify_time(kNow);
    for (const int64_t ago : c.tried_ago) {
      alloc.mutable_reschedule_tracker()->add_events()->set_reschedule_time(kNow - ago * kSecond);
    }
    EXPECT_EQ(next_try(alloc, policy).has_value(), c.again);
  }
}

TEST(Reschedule, AnUnlimitedPolicyKeepsTheLastFiveEvents) {
  v1::ReschedulePolicy policy;
  policy.set_unlimited(true);
  v1::Allocation alloc;
  for (int i = 0; i < 7; ++i) alloc.mutable_reschedule_tracker()->add_events()->set_reschedule_time(i);
  const v1::RescheduleTracker tracker = next_tracker(alloc, policy, kNow);
  ASSERT_EQ(tracker.events_size(), 6);
  EXPECT_EQ(tracker.events(0).reschedule_time(), 2);
  EXPECT_EQ(tracker.events(5).reschedule_time(), kNow);
}

}  // namespace
}  // namespace drover::scheduler
