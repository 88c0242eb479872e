#include "eval_queue.h"

#include <gtest/gtest.h>

#include <future>
#include <thread>
#include <vector>

#include "testing/shell.h"

namespace drover::scheduler {
namespace {

using namespace std::chrono_literals;
using testing::id_of;
using testing::make_eval;
using testing::make_job;

class Queue : public ::testing::Test {
 protected:
  // The next one, if there is one now.
  std::optional<Delivery> next() { return is_ready() ? queue_.dequeue({"service", "batch"}, {}) : std::nullopt; }
  bool is_ready() {
    Metrics metrics;
    queue_.report(metrics);
    for (const Metrics::Value& value : metrics.values()) {
      if (value.name == "nomad.nomad.broker.total_ready") return value.value > 0;
    }
    return false;
  }
  // Makes due evaluations ready; returns the chores to be written down.
  EvalQueue::Chores tick() { return queue_.wait_for_chores(clock_.steady(), {}); }

  drover::testing::ForwardClock clock_;
  EvalQueue queue_{clock_};
  const v1::Job job_ = make_job();
};

TEST_F(Queue, AnAnsweredEvaluationIsGone) {
  queue_.changed(make_eval("e", job_));
  const auto delivery = next();
  ASSERT_TRUE(delivery);
  EXPECT_EQ(delivery->eval.id(), id_of("e"));
  EXPECT_FALSE(next());
  EXPECT_TRUE(queue_.extend(id_of("e"), delivery->token));
  queue_.ack(*delivery);
  EXPECT_FALSE(queue_.extend(id_of("e"), delivery->token));
  clock_.advance(10min);
  EXPECT_TRUE(tick().empty());
  EXPECT_FALSE(next());
}

TEST_F(Queue, TheSameEvaluationTwiceIsDeliveredOnce) {
  queue_.changed(make_eval("e", job_));
  queue_.changed(make_eval("e", job_));
  const auto delivery = next();
  ASSERT_TRUE(delivery);
  queue_.ack(*delivery);
  EXPECT_FALSE(next());
}

TEST_F(Queue, OneThatChangesInFlightComesAgainAfterTheAnswer) {
  queue_.changed(make_eval("e", job_));
  const auto first = next();
  ASSERT_TRUE(first);
  queue_.changed(make_eval("e", job_, 7));
  EXPECT_FALSE(next());
  queue_.ack(*first);
  const auto second = next();
  ASSERT_TRUE(second);
  EXPECT_EQ(second->eval.modify_index(), 7U);
}

TEST_F(Queue, ARefusedOneComesAgainLaterUntilTheLimit) {
  queue_.changed(make_eval("e", job_));
  for (const auto wait : {1s, 20s}) {
    const auto delivery = next();
    ASSERT_TRUE(delivery);
    queue_.nack(*delivery);
    EXPECT_TRUE(tick().empty());
    EXPECT_FALSE(next()) << "before " << wait.count() << " s";
    clock_.advance(wait);
    EXPECT_TRUE(tick().empty());
  }
  const auto last = next();
  ASSERT_TRUE(last);
  queue_.nack(*last);
  const auto chores = tick();
  ASSERT_EQ(chores.failed.size(), 1U);
  EXPECT_EQ(chores.failed[0].id(), id_of("e"));
  clock_.advance(10min);
  EXPECT_TRUE(tick().empty());
  EXPECT_FALSE(next());
}

TEST_F(Queue, WhatIsNotAnsweredInTimeIsTakenBackAndItsOldHolderCountsNoMore) {
  queue_.changed(make_eval("e", job_));
  const auto lost = next();
  ASSERT_TRUE(lost);
  clock_.advance(59s);
  ASSERT_TRUE(queue_.extend(id_of("e"), lost->token));  // it has the whole time again
  clock_.advance(59s);
  EXPECT_TRUE(tick().empty());
  EXPECT_TRUE(queue_.extend(id_of("e"), lost->token));
  clock_.advance(60s);
  EXPECT_TRUE(tick().empty());
  EXPECT_FALSE(queue_.extend(id_of("e"), lost->token));
  clock_.advance(1s);
  EXPECT_TRUE(tick().empty());
  const auto again = next();
  ASSERT_TRUE(again);
  EXPECT_NE(again->token, lost->token);
  queue_.ack(*lost);
  queue_.nack(*lost);
  EXPECT_TRUE(queue_.extend(id_of("e"), again->token));
}

TEST_F(Queue, OfWhatWaitsBehindOneOfItsJobTheNewestGoesOnAndTheOthersAreCancelled) {
  queue_.changed(make_eval("first", job_, 1));
  queue_.changed(make_eval("middle", job_, 2));
  queue_.changed(make_eval("last", job_, 3));
  const auto first = next();
  ASSERT_TRUE(first);
  EXPECT_EQ(first->eval.id(), id_of("first"));
  EXPECT_FALSE(next());
  queue_.ack(*first);
  const auto chores = tick();
  ASSERT_EQ(chores.cancelable.size(), 1U);
  EXPECT_EQ(chores.cancelable[0].id(), id_of("middle"));
  const auto last = next();
  ASSERT_TRUE(last);
  EXPECT_EQ(last->eval.id(), id_of("last"));
}

TEST_F(Queue, ABlockedOneWaitsForRoomOfItsClassAndASecondOneOfItsJobIsNeedless) {
  v1::Evaluation blocked = make_eval("b", job_, 5);
  blocked.set_status(v1::EVAL_STATUS_BLOCKED);
  blocked.set_snapshot_index(5);
  (*blocked.mutable_class_eligibility())["small"] = false;
  EXPECT_FALSE(queue_.changed(blocked));
  v1::Evaluation newer = blocked;
  newer.set_id(id_of("c"));
  newer.set_create_index(6);
  const auto duplicate = queue_.changed(newer);
  ASSERT_TRUE(duplicate);
  EXPECT_EQ(duplicate->id(), id_of("b"));

  queue_.room_gained("n1", "small", 7);
  EXPECT_FALSE(next());
  queue_.room_gained("n2", "large", 8);
  const auto delivery = next();
  ASSERT_TRUE(delivery);
  EXPECT_EQ(delivery->eval.id(), id_of("c"));

  // Room that came before it was known but after its snapshot counts as well.
  v1::Evaluation late = blocked;
  late.set_id(id_of("d"));
  late.set_job_id("other");
  late.set_snapshot_index(7);
  EXPECT_FALSE(queue_.changed(late));
  EXPECT_TRUE(next());
}

TEST_F(Queue, ABlockedOneThatNamesANodeWaitsForThatNodeBesideTheOthersOfItsJob) {
  v1::Evaluation on_first = make_eval("b", job_, 5);
  on_first.set_status(v1::EVAL_STATUS_BLOCKED);
  on_first.set_snapshot_index(5);
  on_first.set_node_id("n1");
  v1::Evaluation on_second = on_first;
  on_second.set_id(id_of("c"));
  on_second.set_node_id("n2");
  EXPECT_FALSE(queue_.changed(on_first));
  EXPECT_FALSE(queue_.changed(on_second));

  queue_.room_gained("n3", "small", 7);
  EXPECT_FALSE(next());
  queue_.room_gained("n2", "small", 8);
  const auto delivery = next();
  ASSERT_TRUE(delivery);
  EXPECT_EQ(delivery->eval.id(), id_of("c"));
  queue_.ack(*delivery);
  EXPECT_FALSE(queue_.changed(on_second));  // decided before that room came
  EXPECT_TRUE(next());

  queue_.job_gone(job_.namespace_(), job_.id());
  queue_.room_gained("n1", "small", 9);
  EXPECT_FALSE(next());
}

TEST_F(Queue, ABlockedOneOfAJobThatIsGoneIsForgotten) {
  v1::Evaluation blocked = make_eval("b", job_, 5);
  blocked.set_status(v1::EVAL_STATUS_BLOCKED);
  queue_.changed(blocked);
  queue_.job_gone(job_.namespace_(), job_.id());
  queue_.room_gained("n1", "any", 9);
  EXPECT_FALSE(next());
}

TEST_F(Queue, ThoseThatMetConflictsAreTriedAgain) {
  v1::Evaluation blocked = make_eval("b", job_, 5);
  blocked.set_status(v1::EVAL_STATUS_BLOCKED);
  blocked.set_triggered_by("max-plan-attempts");
  queue_.changed(blocked);
  EXPECT_FALSE(next());
  queue_.retry_conflicted();
  EXPECT_TRUE(next());
}

TEST_F(Queue, WaitsEndWithTheirStopTokenAndFlushForgetsAll) {
  std::stop_source stop;
  auto worker = std::async(std::launch::async, [&] { return queue_.dequeue({"service"}, stop.get_token()); });
  auto leader =
      std::async(std::launch::async, [&] { return queue_.wait_for_chores(clock_.steady() + 1h, stop.get_token()); });
  stop.request_stop();
  EXPECT_FALSE(worker.get());
  EXPECT_TRUE(leader.get().empty());

  queue_.changed(make_eval("e", job_));
  queue_.flush();
  EXPECT_FALSE(next());
}

TEST_F(Queue, AWaitingWorkerIsWokenByWhatArrives) {
  auto worker = std::async(std::launch::async, [&] { return queue_.dequeue({"service"}, {}); });
  queue_.changed(make_eval("e", job_));
  const auto delivery = worker.get();
  ASSERT_TRUE(delivery);
  EXPECT_EQ(delivery->eval.id(), id_of("e"));
}

TEST_F(Queue, OneNewsThatMakesSeveralReadyWakesAsManyWorkers) {
  for (const char* name : {"a", "b"}) {
    v1::Job job = make_job();
    job.set_id(name);
    v1::Evaluation blocked = make_eval(name, job);
    blocked.set_status(v1::EVAL_STATUS_BLOCKED);
    blocked.set_escaped_computed_class(true);
    queue_.changed(blocked);
  }
  std::vector<std::future<std::optional<Delivery>>> workers;
  for (int i = 0; i < 2; ++i)
    workers.push_back(std::async(std::launch::async, [&] { return queue_.dequeue({"service"}, {}); }));
  queue_.room_gained(id_of("n1"), "v1:class", 10);
  for (auto& worker : workers) EXPECT_TRUE(worker.get());
}

TEST_F(Queue, TheLeaderHearsOfWhatIsDueSoonerThanItExpects) {
  std::jthread leader([&](std::stop_token stop) { queue_.wait_for_chores(clock_.steady() + 24h, stop); });
  v1::Evaluation later = make_eval("e", job_);
  later.set_wait_until(clock_.wall_ns() + std::chrono::nanoseconds(50ms).count());
  queue_.changed(later);
  EXPECT_TRUE(queue_.dequeue({"service"}, {})) << "the leader has made it ready when it was due";
}

TEST_F(Queue, OneThatIsDueLaterComesThen) {
  v1::Evaluation later = make_eval("e", job_);
  later.set_wait_until(clock_.wall_ns() + std::chrono::nanoseconds(30s).count());
  queue_.changed(later);
  EXPECT_TRUE(tick().empty());
  EXPECT_FALSE(next());
  clock_.advance(31s);
  EXPECT_TRUE(tick().empty());
  EXPECT_TRUE(next());
}

TEST_F(Queue, NothingIsHandedOutWhileItIsPaused) {
  queue_.pause(true);
  queue_.changed(make_eval("e", job_));
  auto delivery = std::async(std::launch::async, [&] { return queue_.dequeue({"service"}, {}); });
  EXPECT_EQ(delivery.wait_for(20ms), std::future_status::timeout);
  EXPECT_TRUE(is_ready());
  queue_.pause(false);
  EXPECT_EQ(delivery.get()->eval.id(), id_of("e"));
}

TEST_F(Queue, E3NoAnswerIsDueWhileAPlanIsInFlight) {
  queue_.changed(make_eval("e", job_));
  const auto delivery = next();
  ASSERT_TRUE(delivery);
  EXPECT_TRUE(queue_.rest(id_of("e"), delivery->token));
  clock_.advance(10min);
  EXPECT_TRUE(tick().empty());
  EXPECT_TRUE(queue_.extend(id_of("e"), delivery->token)) << "it was not taken back; now the time runs";
  clock_.advance(60s);
  EXPECT_TRUE(tick().empty());
  EXPECT_FALSE(queue_.rest(id_of("e"), delivery->token));
}

TEST_F(Queue, WhatIsDecidedAgainComesBeforeTheNextAndKeepsItsCount) {
  queue_.changed(make_eval("e", job_));
  auto delivery = next();
  ASSERT_TRUE(delivery);
  v1::Job urgent = make_job();
  urgent.set_id("urgent");
  urgent.set_priority(90);
  queue_.changed(make_eval("urgent", urgent));
  delivery->attempts = 2;
  delivery->index = 7;
  queue_.again(*delivery);
  const auto again = next();
  ASSERT_TRUE(again);
  EXPECT_EQ(again->eval.id(), id_of("e"));
  EXPECT_EQ(again->token, delivery->token);
  EXPECT_EQ(again->attempts, 2);
  EXPECT_EQ(again->index, 7U);
  queue_.ack(*again);
  queue_.again(*again);  // answered: it is nobody's
  EXPECT_EQ(next()->eval.id(), id_of("urgent"));
  EXPECT_FALSE(next());
}

TEST_F(Queue, SoManyAreInFlightAndNoMore) {
  std::vector<Delivery> deliveries;
  for (size_t i = 0; i <= EvalQueue::kMostInFlight; ++i) {
    v1::Job job = make_job();
    job.set_id("job" + std::to_string(i));
    queue_.changed(make_eval(job.id(), job));
  }
  for (size_t i = 0; i < EvalQueue::kMostInFlight; ++i) deliveries.push_back(next().value());
  auto last = std::async(std::launch::async, [&] { return queue_.dequeue({"service"}, {}); });
  EXPECT_EQ(last.wait_for(20ms), std::future_status::timeout);
  queue_.ack(deliveries.front());
  EXPECT_TRUE(last.get());
}

TEST_F(Queue, G18WhatStillFindsNoRoomGoesOnWaiting) {
  v1::Evaluation eval = make_eval("e", job_);
  eval.set_status(v1::EVAL_STATUS_BLOCKED);
  eval.set_snapshot_index(5);
  (*eval.mutable_class_eligibility())["small"] = true;
  queue_.changed(eval);
  queue_.room_gained("n1", "small", 6);
  const auto delivery = next();
  ASSERT_TRUE(delivery);
  eval.set_snapshot_index(6);
  queue_.block_again(*delivery, eval);
  EXPECT_FALSE(next());
  queue_.room_gained("n1", "small", 7);
  const auto second = next();
  ASSERT_TRUE(second);
  queue_.room_gained("n1", "small", 8);  // while it is looked at
  queue_.block_again(*second, eval);
  EXPECT_TRUE(next());
}

}  // namespace
}  // namespace drover::scheduler
