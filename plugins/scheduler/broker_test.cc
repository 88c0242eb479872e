#include "broker.h"

#include <gtest/gtest.h>

#include "blocked.h"
#include "testing/fixtures.h"

namespace drover::scheduler {
namespace {

using namespace std::chrono_literals;
using testing::id_of;

const std::set<std::string> kTypes = {"service", "batch"};

Moment at(std::chrono::nanoseconds time) { return {SteadyTime(time), time.count()}; }

v1::Evaluation make_eval(const std::string& id, const std::string& job, int32_t priority = 50, uint64_t index = 1) {
  v1::Evaluation eval;
  eval.set_id(id_of(id));
  eval.set_namespace_("default");
  eval.set_job_id(job);
  eval.set_type("service");
  eval.set_priority(priority);
  eval.set_create_index(index);
  eval.set_modify_index(index);
  eval.set_status(v1::EVAL_STATUS_PENDING);
  return eval;
}

std::string next(Broker& broker, Moment now, const std::string& token = "t") {
  auto delivery = broker.dequeue(kTypes, token, now);
  return delivery ? delivery->eval.id() : "";
}

TEST(Broker, GivesTheHighestPriorityThenTheOldest) {
  Broker broker({});
  broker.enqueue(make_eval("low", "a", 20, 1), at(0s));
  broker.enqueue(make_eval("young", "b", 80, 3), at(0s));
  broker.enqueue(make_eval("old", "c", 80, 2), at(0s));
  EXPECT_EQ(next(broker, at(0s)), id_of("old"));
  EXPECT_EQ(next(broker, at(0s)), id_of("young"));
  EXPECT_EQ(next(broker, at(0s)), id_of("low"));
  EXPECT_EQ(next(broker, at(0s)), "");
}

TEST(Broker, GivesOnlyTheTypesAskedFor) {
  Broker broker({});
  broker.enqueue(make_eval("e", "a"), at(0s));
  EXPECT_FALSE(broker.dequeue({"batch"}, "t", at(0s)));
}

TEST(Broker, WhatIsDeletedStandsInNobodysWay) {
  Broker broker({});
  // Behind the first one the registration waits, and a newer one that would make it needless.
  broker.enqueue(make_eval("first", "a", 50, 1), at(0s));
  broker.enqueue(make_eval("register", "a", 50, 2), at(0s));
  broker.enqueue(make_eval("newer", "a", 50, 3), at(0s));
  v1::Evaluation later = make_eval("later", "b");
  later.set_wait_until(5'000'000'000);
  broker.enqueue(later, at(0s));
  for (const char* id : {"first", "newer", "later", "unknown"}) broker.forget(id_of(id));
  EXPECT_EQ(next(broker, at(9s), "t1"), id_of("register"));
  broker.tick(at(9s));
  EXPECT_EQ(next(broker, at(9s)), "");
  broker.forget(id_of("register"));  // it is in flight: its answer ends it
  EXPECT_TRUE(broker.ack(id_of("register"), "t1", at(9s)).ok());
  EXPECT_TRUE(broker.take_cancelable(10).empty());
}

TEST(Broker, OneThatIsDeliveredAtOnceKeepsItsJobToItself) {
  Broker broker({});
  const v1::Evaluation eval = make_eval("exact", "a");
  const auto delivery = broker.deliver(eval, "t1", at(0s));
  ASSERT_TRUE(delivery);
  EXPECT_FALSE(broker.deliver(make_eval("other", "a"), "t2", at(0s)));
  EXPECT_TRUE(broker.deliver(make_eval("other", "b"), "t3", at(0s)));
  broker.enqueue(make_eval("waits", "a", 50, 2), at(0s));
  EXPECT_EQ(next(broker, at(0s)), "");
  ASSERT_TRUE(broker.ack(eval.id(), "t1", at(0s)).ok());
  EXPECT_EQ(next(broker, at(0s)), id_of("waits"));
}

TEST(Broker, KeepsOneOfAJobInFlightAndCancelsAllButTheNewest) {
  Broker broker({});
  for (const auto& [id, index] : {std::pair("e1", 1U), {"e2", 2U}, {"e3", 3U}}) {
    broker.enqueue(make_eval(id, "a", 50, index), at(0s));
  }
  ASSERT_EQ(next(broker, at(0s), "t1"), id_of("e1"));
  EXPECT_EQ(next(broker, at(0s)), "");
  ASSERT_TRUE(broker.ack(id_of("e1"), "t1", at(0s)).ok());

  EXPECT_EQ(next(broker, at(0s), "t3"), id_of("e3"));
  const auto needless = broker.take_cancelable(10);
  ASSERT_EQ(needless.size(), 1U);
  EXPECT_EQ(needless[0].id(), id_of("e2"));
}

TEST(Broker, TakesBackWhatIsNotAnsweredAndFailsItInTheEnd) {
  Broker broker({});
  broker.enqueue(make_eval("e", "a"), at(0s));
  ASSERT_EQ(next(broker, at(0s), "t1"), id_of("e"));
  broker.tick(at(60s));
  EXPECT_EQ(broker.ack(id_of("e"), "t1", at(60s)).code(), Code::not_found);
  EXPECT_EQ(next(broker, at(60s)), "");
  broker.tick(at(61s));
  ASSERT_EQ(next(broker, at(61s), "t2"), id_of("e"));
  ASSERT_TRUE(broker.nack(id_of("e"), "t2", at(61s)).ok());
  broker.tick(at(80s));
  EXPECT_EQ(next(broker, at(80s)), "");
  broker.tick(at(81s));
  ASSERT_EQ(next(broker, at(81s), "t3"), id_of("e"));
  ASSERT_TRUE(broker.nack(id_of("e"), "t3", at(81s)).ok());

  EXPECT_FALSE(broker.next_deadline());
  const auto failed = broker.take_failed();
  ASSERT_EQ(failed.size(), 1U);
  EXPECT_EQ(failed[0].id(), id_of("e"));
}

TEST(Broker, AnswersNeedTheTokenAndExtendStartsTheTimeOver) {
  Broker broker({});
  broker.enqueue(make_eval("e", "a"), at(0s));
  ASSERT_EQ(next(broker, at(0s), "t1"), id_of("e"));
  EXPECT_EQ(broker.ack(id_of("e"), "other", at(0s)).code(), Code::not_found);
  EXPECT_TRUE(broker.extend(id_of("e"), "t1", at(50s)).ok());
  broker.tick(at(100s));
  EXPECT_TRUE(broker.outstanding(id_of("e"), "t1"));
  EXPECT_TRUE(broker.ack(id_of("e"), "t1", at(100s)).ok());
}

TEST(Broker, WaitsUntilAnEvaluationIsDue) {
  Broker broker({});
  v1::Evaluation later = make_eval("e", "a");
  later.set_wait_until(std::chrono::nanoseconds(30s).count());
  broker.enqueue(later, at(10s));
  EXPECT_EQ(broker.next_deadline(), SteadyTime(30s));
  broker.tick(at(29s));
  EXPECT_EQ(next(broker, at(29s)), "");
  broker.tick(at(30s));
  EXPECT_EQ(next(broker, at(30s)), id_of("e"));
}

TEST(Broker, GivesAgainWhatWasPutInWhileInFlight) {
  Broker broker({});
  broker.enqueue(make_eval("e", "a"), at(0s));
  ASSERT_EQ(next(broker, at(0s), "t1"), id_of("e"));
  broker.enqueue(make_eval("e", "a"), at(0s));
  EXPECT_EQ(next(broker, at(0s)), "");
  ASSERT_TRUE(broker.ack(id_of("e"), "t1", at(0s)).ok());
  EXPECT_EQ(next(broker, at(0s), "t2"), id_of("e"));
  broker.flush();
  EXPECT_EQ(broker.stats().unacked, 0U);
}

v1::Evaluation make_blocked(const std::string& id, const std::string& job, uint64_t snapshot) {
  v1::Evaluation eval = make_eval(id, job, 50, snapshot);
  eval.set_status(v1::EVAL_STATUS_BLOCKED);
  eval.set_snapshot_index(snapshot);
  (*eval.mutable_class_eligibility())["good"] = true;
  (*eval.mutable_class_eligibility())["bad"] = false;
  return eval;
}

TEST(Blocked, GoesOnWhenAnAllowedOrUnknownClassGainsRoom) {
  struct Case {
    const char* gained;
    bool escaped;
    bool goes_on;
  };
  const Case cases[] = {{"good", false, true}, {"bad", false, false}, {"new", false, true}, {"bad", true, true}};
  for (const Case& c : cases) {
    SCOPED_TRACE(c.gained);
    Blocked blocked;
    v1::Evaluation eval = make_blocked("e", "a", 5);
    eval.set_escaped_computed_class(c.escaped);
    EXPECT_FALSE(blocked.block(eval).runnable);
    EXPECT_EQ(blocked.unblock("node", c.gained, 6, SteadyTime()).size(), c.goes_on ? 1U : 0U);
    EXPECT_EQ(blocked.stats().blocked, c.goes_on ? 0U : 1U);
  }
}

TEST(Blocked, MissesNoRoomGainedAfterItsSnapshot) {
  Blocked blocked;
  (void)blocked.unblock("node", "good", 7, SteadyTime(1s));
  EXPECT_TRUE(blocked.block(make_blocked("e1", "a", 6)).runnable);
  EXPECT_FALSE(blocked.block(make_blocked("e2", "b", 7)).runnable);
  blocked.prune(SteadyTime(2s));
  EXPECT_FALSE(blocked.block(make_blocked("e3", "c", 6)).runnable);
}

TEST(Blocked, KeepsTheNewestOfAJob) {
  Blocked blocked;
  EXPECT_FALSE(blocked.block(make_blocked("e1", "a", 5)).duplicate);
  const auto outcome = blocked.block(make_blocked("e2", "a", 6));
  ASSERT_TRUE(outcome.duplicate);
  EXPECT_EQ(outcome.duplicate->id(), id_of("e1"));
  blocked.untrack_job("default", "a");
  EXPECT_EQ(blocked.stats().blocked, 0U);
}

TEST(Blocked, RetriesThoseThatMetConflicts) {
  Blocked blocked;
  v1::Evaluation conflicted = make_blocked("e1", "a", 5);
  conflicted.set_triggered_by("max-plan-attempts");
  (void)blocked.block(conflicted);
  (void)blocked.block(make_blocked("e2", "b", 5));
  EXPECT_EQ(blocked.take_conflicted().size(), 1U);
  EXPECT_EQ(blocked.stats().blocked, 1U);
}

}  // namespace
}  // namespace drover::scheduler
