#include "plan_applier.h"

#include <gtest/gtest.h>

#include <future>
#include <thread>

#include "testing/shell.h"
#include "worker.h"

namespace drover::scheduler {
namespace {

using namespace std::chrono_literals;
using testing::id_of;
using testing::make_alloc;
using testing::make_eval;
using testing::make_job;
using testing::make_node;

class Applying : public testing::ShellTest {
 protected:
  Applying() { put(make_node("n1", 1000)); }  // two of 500 MHz

  // An evaluation that a worker has in its hands.
  Delivery in_flight(const v1::Job& job) {
    queue_.changed(make_eval(job.id(), job));
    return queue_.dequeue({"service"}, {}).value();
  }
  v1::Job job_named(const std::string& id) {
    v1::Job job = make_job();
    job.set_id(id);
    return job;
  }
  Plan plan_of(const v1::Job& job, const std::string& node, int count) {
    Plan plan;
    for (int i = 0; i < count; ++i) {
      v1::Allocation alloc = make_alloc(job, i, node, v1::CLIENT_STATUS_PENDING);
      alloc.set_id(id_of(job.id() + std::to_string(i) + node));
      plan.placed.push_back(std::move(alloc));
    }
    return plan;
  }
  using Outcome = std::future<Result<PlanApplier::Outcome>>;
  Outcome submit(PlanApplier& applier, Plan plan, const Delivery& delivery, std::vector<v1::Evaluation> end = {}) {
    auto told = std::make_shared<std::promise<Result<PlanApplier::Outcome>>>();
    Outcome outcome = told->get_future();
    applier.submit({.plan = WeighedPlan(std::move(plan)),
                    .end = std::move(end),
                    .eval_id = delivery.eval.id(),
                    .token = delivery.token,
                    .priority = delivery.eval.priority(),
                    .term = host_.term(),
                    .done = [told](const auto& what) { told->set_value(what); }});
    return outcome;
  }
  Outcome submit(Plan plan, const Delivery& delivery, std::vector<v1::Evaluation> end = {}) {
    return submit(applier_, std::move(plan), delivery, std::move(end));
  }
  std::jthread run() {
    return std::jthread([this](std::stop_token stop) { applier_.run(stop); });
  }

  EvalQueue queue_{host_.clock()};
  SharedColumns columns_{host_, tables_};
  PlanApplier applier_{host_, columns_, queue_};
};

TEST_F(Applying, APlanThatFitsIsWrittenWhole) {
  const v1::Job job = job_named("job");
  const Delivery delivery = in_flight(job);
  const auto applier = run();
  const auto outcome = submit(plan_of(job, "n1", 2), delivery).get();
  ASSERT_TRUE(outcome.ok()) << outcome.status().message();
  EXPECT_TRUE(outcome->full);
  EXPECT_TRUE(outcome->progress);
  EXPECT_EQ(allocs_of(job).size(), 2U);
  EXPECT_EQ(outcome->index, allocs_of(job)[0].create_index());
}

TEST_F(Applying, APlanWhoseNodeVanishedMakesNoProgressAndWritesNothing) {
  const v1::Job job = job_named("job");
  const Delivery delivery = in_flight(job);
  const uint64_t gone = host_.commit([&](WriteTransaction& rows) { nodes_.erase(rows, id_of("n1")); });
  const auto applier = run();
  const auto outcome = submit(plan_of(job, "n1", 1), delivery).get();
  ASSERT_TRUE(outcome.ok()) << outcome.status().message();
  EXPECT_FALSE(outcome->full);
  EXPECT_FALSE(outcome->progress);
  EXPECT_GE(outcome->index, gone);  // the next look shows that the node is gone
  EXPECT_TRUE(allocs_of(job).empty());
  EXPECT_TRUE(host_.proposed().empty());
}

TEST_F(Applying, WhatFitsIsDoneAndTheRestIsSaid) {
  const v1::Job job = job_named("job");
  const Delivery delivery = in_flight(job);
  Plan plan = plan_of(job, "n1", 1);
  plan.placed.push_back(plan_of(job, "n2", 1).placed[0]);
  const auto applier = run();
  const auto outcome = submit(std::move(plan), delivery).get();
  ASSERT_TRUE(outcome.ok());
  EXPECT_FALSE(outcome->full);
  EXPECT_TRUE(outcome->progress);
  ASSERT_EQ(allocs_of(job).size(), 1U);
  EXPECT_EQ(allocs_of(job)[0].node_id(), id_of("n1"));
}

TEST_F(Applying, OfTwoPlansForTheSameRoomTheMoreUrgentOneGetsIt) {
  const v1::Job low = job_named("low"), high = job_named("high");
  Delivery first = in_flight(low), second = in_flight(high);
  Plan lower = plan_of(low, "n1", 2), higher = plan_of(high, "n1", 1);
  first.eval.set_priority(10);
  second.eval.set_priority(90);
  auto of_low = submit(std::move(lower), first);
  auto of_high = submit(std::move(higher), second);
  const auto applier = run();
  const auto low_outcome = of_low.get(), high_outcome = of_high.get();
  ASSERT_TRUE(low_outcome.ok() && high_outcome.ok());
  EXPECT_TRUE(high_outcome->full);
  EXPECT_FALSE(low_outcome->full);
  EXPECT_EQ(allocs_of(high).size(), 1U);
  EXPECT_TRUE(allocs_of(low).empty());
  EXPECT_EQ(host_.proposed().size(), 1U);  // one entry for both
}

TEST_F(Applying, APlanOfADeliveryThatWasTakenBackIsRefused) {
  const v1::Job job = job_named("job");
  Delivery delivery = in_flight(job);
  delivery.token = "of another delivery";
  const auto applier = run();
  const auto outcome = submit(plan_of(job, "n1", 1), delivery).get();
  EXPECT_EQ(outcome.status().code(), Code::aborted);
  EXPECT_TRUE(allocs_of(job).empty());
}

TEST_F(Applying, TheLogsErrorIsTheAnswer) {
  const v1::Job job = job_named("job");
  const Delivery delivery = in_flight(job);
  host_.refuse("drover.v1.PlansPacked", unavailable("this server is not the leader"));
  const auto applier = run();
  EXPECT_EQ(submit(plan_of(job, "n1", 1), delivery).get().status().code(), Code::unavailable);
}

TEST_F(Applying, AServerThatDoesNotKnowPackedPlansGetsThemWhole) {
  const v1::Job job = job_named("job"), other = job_named("other");
  host_.refuse("drover.v1.PlansPacked", failed_precondition("server s2 does not know the command"));
  const auto applier = run();
  const auto outcome = submit(plan_of(job, "n1", 1), in_flight(job)).get();
  ASSERT_TRUE(outcome.ok()) << outcome.status().message();
  EXPECT_TRUE(outcome->full);
  ASSERT_EQ(allocs_of(job).size(), 1U);
  EXPECT_EQ(allocs_of(job)[0].node_id(), id_of("n1"));
  EXPECT_TRUE(submit(plan_of(other, "n1", 1), in_flight(other)).get().ok());
  const auto said = host_.proposed();
  EXPECT_EQ(std::ranges::count(said, "drover.v1.PlanApplied"), 2);
  // For a while it is not tried again; then it is.
  host_.refuse("drover.v1.PlansPacked", ok_status());
  host_.forward_clock().advance(1min);
  put(make_node("n2", 1000));
  EXPECT_TRUE(submit(plan_of(other, "n2", 1), in_flight(job_named("third"))).get().ok());
  EXPECT_EQ(std::ranges::count(host_.proposed(), "drover.v1.PlansPacked"), 1);
}

TEST_F(Applying, WhoWaitsWhenLeadershipEndsIsTold) {
  const v1::Job job = job_named("job");
  const Delivery delivery = in_flight(job);
  auto waiting = submit(plan_of(job, "n1", 1), delivery);
  std::stop_source stop;
  stop.request_stop();
  applier_.run(stop.get_token());
  EXPECT_EQ(waiting.get().status().code(), Code::cancelled);
  // A plan that nobody waits for any more is not done either.
  const v1::Job other = job_named("other");
  const Delivery second = in_flight(other);
  PlanApplier next(host_, columns_, queue_);  // each leadership has its own
  const std::jthread applier([&](std::stop_token until) { next.run(until); });
  EXPECT_TRUE(submit(next, plan_of(other, "n1", 1), second).get().ok());
  EXPECT_TRUE(allocs_of(job).empty());
  // Nor is one that comes when it is over.
  EXPECT_EQ(submit(plan_of(job, "n1", 1), delivery).get().status().code(), Code::cancelled);
}

TEST_F(Applying, AWorkerLeavesWhatIsClosedAlone) {
  const v1::Job job = job_named("job");
  put(job);
  v1::Evaluation closed = make_eval("e", job);
  propose(closed);
  const auto stale = eval("e");
  closed.set_status(v1::EVAL_STATUS_CANCELED);
  propose(closed);
  v1::Job last = job_named("last");
  put(last);
  propose(make_eval("z", last));
  queue_.changed(*stale);  // as after a delivery that another one overtook
  const auto applier = run();
  const std::jthread worker(
      [this](std::stop_token stop) { Worker(host_, tables_, columns_, queue_, applier_, {"service"}).run(stop); });
  queue_.changed(*eval("z"));
  ASSERT_TRUE(eventually_has("z", v1::EVAL_STATUS_COMPLETE));
  EXPECT_EQ(eval("e")->status(), v1::EVAL_STATUS_CANCELED);
  EXPECT_TRUE(allocs_of(job).empty());
  EXPECT_EQ(allocs_of(last).size(), 1U);
}

TEST_F(Applying, ANodeThatRefusesTooOftenIsClosed) {
  std::vector<v1::NodeEligibilityUpdated> closed;
  const auto note = [&](std::string_view bytes, ApplyContext&) -> Result<std::string> {
    closed.emplace_back().ParseFromArray(bytes.data(), static_cast<int>(bytes.size()));
    return std::string();
  };
  ASSERT_TRUE(host_.rows().command("drover.v1.NodeEligibilityUpdated", note).ok());
  PlanApplier strict(host_, columns_, queue_, {.enabled = true, .node_threshold = 2});
  const std::jthread applier([&](std::stop_token stop) { strict.run(stop); });
  for (const char* name : {"first", "second", "third"}) {
    const v1::Job job = job_named(name);
    const Delivery delivery = in_flight(job);
    const auto outcome = submit(strict, plan_of(job, "n1", 3), delivery).get();
    ASSERT_TRUE(outcome.ok());
    EXPECT_FALSE(outcome->full);
  }
  ASSERT_EQ(closed.size(), 1U);
  EXPECT_EQ(closed[0].node_id(), id_of("n1"));
  EXPECT_EQ(closed[0].eligibility(), "ineligible");
  EXPECT_EQ(closed[0].event().message(), "Node marked as ineligible for scheduling due to multiple plan rejections");
  EXPECT_EQ(closed[0].event().subsystem(), "Scheduler");
}

v1::Evaluation completed(v1::Evaluation eval) {
  eval.set_status(v1::EVAL_STATUS_COMPLETE);
  return eval;
}

TEST_F(Applying, AWholePlanAndTheEndOfItsEvaluationAreOneEntry) {
  const v1::Job job = job_named("job");
  propose(make_eval("job", job));
  const Delivery delivery = in_flight(job);
  const auto applier = run();
  ASSERT_TRUE(submit(plan_of(job, "n1", 1), delivery, {completed(delivery.eval)}).get().ok());
  EXPECT_EQ(eval("job")->status(), v1::EVAL_STATUS_COMPLETE);
  EXPECT_EQ(eval("job")->modify_index(), allocs_of(job)[0].create_index());
}

TEST_F(Applying, APlanThatWasTrimmedEndsNothing) {
  const v1::Job job = job_named("job");
  propose(make_eval("job", job));
  const Delivery delivery = in_flight(job);
  Plan plan = plan_of(job, "n1", 1);
  plan.placed.push_back(plan_of(job, "n2", 1).placed[0]);
  const auto applier = run();
  ASSERT_TRUE(submit(std::move(plan), delivery, {completed(delivery.eval)}).get().ok());
  EXPECT_EQ(allocs_of(job).size(), 1U);
  EXPECT_EQ(eval("job")->status(), v1::EVAL_STATUS_PENDING);
}

TEST_F(Applying, L7TwoPlansInFlightOnOneNodeSeeEachOther) {
  const v1::Job first = job_named("first"), second = job_named("second"), third = job_named("third");
  const Delivery of_first = in_flight(first), of_second = in_flight(second), of_third = in_flight(third);
  host_.hold();
  const auto applier = run();
  auto one = submit(plan_of(first, "n1", 1), of_first);
  ASSERT_TRUE(host_.wait_until_held(1));
  auto two = submit(plan_of(second, "n1", 1), of_second);
  ASSERT_TRUE(host_.wait_until_held(2));
  const auto three = submit(plan_of(third, "n1", 1), of_third).get();
  ASSERT_TRUE(three.ok());
  EXPECT_FALSE(three->full) << "the node is full though the state does not show it yet";
  EXPECT_FALSE(three->progress);
  const auto look = columns_.look(0, host_.clock().steady() + 5s, {});
  ASSERT_TRUE(look.ok());
  EXPECT_EQ(look->cluster.room(id_of("n1"))->used().cpu, 1000) << "and the next decision sees it";

  host_.release();
  EXPECT_TRUE(one.get()->full);
  EXPECT_TRUE(two.get()->full);
  EXPECT_EQ(allocs_of(first).size() + allocs_of(second).size(), 2U);
  EXPECT_TRUE(allocs_of(third).empty());
}

TEST_F(Applying, L7WhatALeaderLeavesInFlightIsThereWholeOrNotAtAll) {
  put(make_node("n2", 1000));
  put(make_node("n3", 1000));
  const char* nodes[] = {"n1", "n2", "n3"};
  std::vector<v1::Job> jobs;
  std::vector<Outcome> outcomes;
  host_.hold();
  const auto applier = run();
  for (const char* node : nodes) {
    jobs.push_back(job_named(std::string("on ") + node));
    propose(make_eval(jobs.back().id(), jobs.back()));
    const Delivery delivery = in_flight(jobs.back());
    outcomes.push_back(submit(plan_of(jobs.back(), node, 2), delivery, {completed(delivery.eval)}));
    ASSERT_TRUE(host_.wait_until_held(outcomes.size()));
  }
  host_.lose(1);
  for (Outcome& outcome : outcomes) EXPECT_EQ(outcome.get().status().code(), Code::deadline_exceeded);
  for (size_t i = 0; i < jobs.size(); ++i) {
    EXPECT_EQ(allocs_of(jobs[i]).size(), i == 0 ? 2U : 0U) << i;
    EXPECT_EQ(eval(jobs[i].id())->status(), i == 0 ? v1::EVAL_STATUS_COMPLETE : v1::EVAL_STATUS_PENDING) << i;
    const auto look = columns_.look(0, host_.clock().steady() + 5s, {});
    ASSERT_TRUE(look.ok());
    EXPECT_EQ(look->cluster.room(id_of(nodes[i]))->used().cpu, i == 0 ? 1000 : 0) << i;
  }
}

TEST_F(Applying, WhatMayStillBeCommittedIsInFlightUntilThatIsKnown) {
  const v1::Job job = job_named("job"), other = job_named("other"), last = job_named("last");
  const Delivery of_job = in_flight(job), of_other = in_flight(other), of_last = in_flight(last);
  host_.hold();
  const auto applier = run();
  auto outcome = submit(plan_of(job, "n1", 2), of_job);
  ASSERT_TRUE(host_.wait_until_held(1));
  host_.time_out();
  auto refused = submit(plan_of(other, "n1", 1), of_other);
  ASSERT_EQ(refused.wait_for(30s), std::future_status::ready) << "its room was given away";
  EXPECT_FALSE(refused.get()->full);
  EXPECT_EQ(outcome.wait_for(0s), std::future_status::timeout) << "nor may it be decided again";

  host_.release();
  EXPECT_EQ(outcome.get().status().code(), Code::deadline_exceeded);
  EXPECT_EQ(allocs_of(job).size(), 2U) << "and it was committed, whatever its answer";
  EXPECT_FALSE(submit(plan_of(last, "n1", 1), of_last).get()->full);
}

TEST_F(Applying, APlanOfAnEarlierTermIsRefused) {
  const v1::Job job = job_named("job");
  const Delivery delivery = in_flight(job);
  auto outcome = submit(plan_of(job, "n1", 1), delivery);
  host_.begin_term();
  const auto applier = run();
  EXPECT_EQ(outcome.get().status().code(), Code::aborted);
  EXPECT_TRUE(allocs_of(job).empty());
}

TEST_F(Applying, RoomThatAFailedPlanHeldWakesWhoFoundNone) {
  const v1::Job job = job_named("job"), other = job_named("other");
  const Delivery delivery = in_flight(job);
  host_.hold();
  const auto applier = run();
  auto outcome = submit(plan_of(job, "n1", 2), delivery);
  ASSERT_TRUE(host_.wait_until_held(1));
  v1::Evaluation blocked = make_eval("blocked", other);
  blocked.set_status(v1::EVAL_STATUS_BLOCKED);
  blocked.set_snapshot_index(host_.snapshot()->index());
  (*blocked.mutable_class_eligibility())["v1:n1"] = true;
  queue_.changed(blocked);
  host_.lose(0);
  EXPECT_FALSE(outcome.get().ok());
  EXPECT_EQ(queue_.dequeue({"service"}, {})->eval.id(), id_of("blocked"));
}

TEST_F(Applying, PlansThatComeWhileAnEntryIsUnderWayShareTheNext) {
  put(make_node("large", 1'000'000, 1'000'000));
  std::vector<Outcome> outcomes;
  std::vector<std::pair<Plan, Delivery>> plans;
  for (int i = 0; i < 12; ++i) {
    const v1::Job job = job_named("job" + std::to_string(i));
    plans.emplace_back(plan_of(job, "large", 1), in_flight(job));
  }
  const auto hand_in = [&](size_t i) { outcomes.push_back(submit(std::move(plans[i].first), plans[i].second)); };
  host_.hold();
  const auto applier = run();
  hand_in(0);
  ASSERT_TRUE(host_.wait_until_held(1));
  for (size_t i = 1; i < plans.size(); ++i) hand_in(i);
  ASSERT_TRUE(host_.wait_until_held(2));
  host_.release();
  for (Outcome& outcome : outcomes) EXPECT_TRUE(outcome.get()->full);
  EXPECT_LT(host_.proposed().size(), plans.size());
}

TEST_F(Applying, SoManyEntriesAreInFlightAndNoMore) {
  const size_t most = PlanApplier::kMostEntries;
  put(make_node("large", 1'000'000, 1'000'000));
  std::vector<Outcome> outcomes;
  host_.hold();
  const auto applier = run();
  for (size_t i = 0; i < most + 3; ++i) {
    const v1::Job job = job_named("job" + std::to_string(i));
    outcomes.push_back(submit(plan_of(job, "large", 1), in_flight(job)));
    ASSERT_TRUE(host_.wait_until_held(std::min(i + 1, most)));
  }
  host_.release(1);
  ASSERT_TRUE(outcomes.front().get().ok());
  ASSERT_TRUE(host_.wait_until_held(most)) << "those that waited share the next entry";
  host_.release();
  for (size_t i = 1; i < outcomes.size(); ++i) EXPECT_TRUE(outcomes[i].get().ok()) << i;
  EXPECT_EQ(host_.proposed().size(), most + 1);
}

}  // namespace
}  // namespace drover::scheduler
