#include "drover/paced_changes.h"

#include <gtest/gtest.h>

#include <vector>

namespace drover {
namespace {

using namespace std::chrono_literals;

constexpr auto kForEver = 1h;

// Says what it was asked for; who waits for it gets a commit at once.
class Feed final : public ChangeSubscription {
 public:
  explicit Feed(std::vector<SteadyTime>& asked, int& there) : asked_(asked), there_(there) {}
  Event next(SteadyTime deadline, std::stop_token) override {
    asked_.push_back(deadline);
    if (there_ > 0) return --there_, std::shared_ptr<const ChangeBatch>();
    if (deadline == SteadyTime()) return Timeout{};
    return std::shared_ptr<const ChangeBatch>();
  }

 private:
  std::vector<SteadyTime>& asked_;
  int& there_;
};

class Paced : public ::testing::Test {
 protected:
  PacedChanges paced(std::chrono::nanoseconds rest, std::function<bool()> may_rest = nullptr) {
    return PacedChanges(std::make_unique<Feed>(asked_, there_), rest, std::move(may_rest));
  }
  static bool is_commit(const ChangeSubscription::Event& event) { return event.index() == 0; }
  static bool is_timeout(const ChangeSubscription::Event& event) {
    return std::holds_alternative<ChangeSubscription::Timeout>(event);
  }

  const SteadyTime deadline_ = std::chrono::steady_clock::now() + kForEver;
  std::vector<SteadyTime> asked_;
  int there_ = 0;  // commits that nobody need wait for
  std::stop_source stopping_;
};

TEST_F(Paced, TheFirstCommitIsHandedOverAtOnce) {
  PacedChanges changes = paced(kForEver);
  EXPECT_TRUE(is_commit(changes.next(deadline_, {})));
  EXPECT_EQ(asked_, (std::vector<SteadyTime>{SteadyTime(), deadline_}));
}

TEST_F(Paced, ThenItRestsAndNobodyIsWokenMeanwhile) {
  PacedChanges changes = paced(kForEver);
  (void)changes.next(deadline_, {});
  asked_.clear();
  stopping_.request_stop();  // else the test would rest as long
  EXPECT_TRUE(is_timeout(changes.next(deadline_, stopping_.get_token())));
  EXPECT_EQ(asked_, std::vector<SteadyTime>{SteadyTime()}) << "it has only looked";
}

TEST_F(Paced, WhatIsThereIsHandedOverWithoutARest) {
  PacedChanges changes = paced(kForEver);
  (void)changes.next(deadline_, {});
  there_ = 2;
  EXPECT_TRUE(is_commit(changes.next(deadline_, {})));
  EXPECT_TRUE(is_commit(changes.next(deadline_, {})));
}

TEST_F(Paced, ARestEndsByItselfAndByTheDeadline) {
  PacedChanges brief = paced(1ms);
  (void)brief.next(deadline_, {});
  EXPECT_TRUE(is_commit(brief.next(deadline_, {})));
  PacedChanges longer = paced(kForEver);
  (void)longer.next(deadline_, {});
  EXPECT_TRUE(is_commit(longer.next(std::chrono::steady_clock::now() + 1ms, {})));
}

TEST_F(Paced, ItDoesNotRestWhereItMayNot) {
  PacedChanges changes = paced(kForEver, [] { return false; });
  (void)changes.next(deadline_, {});
  EXPECT_TRUE(is_commit(changes.next(deadline_, {})));
}

}  // namespace
}  // namespace drover
