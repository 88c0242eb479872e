#include "plan_applier.h"

#include <gtest/gtest.h>

#include <future>
#include <thread>

#include "testing/shell.h"
#include "worker.h"

namespace drover::scheduler {
namespace {

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
  std::future<Result<PlanApplier::Outcome>> submit(Plan plan, const Delivery& delivery, std::stop_token stop = {}) {
    return std::async(std::launch::async, [this, plan = std::move(plan), delivery, stop]() mutable {
      return applier_.submit(std::move(plan), delivery, stop);
    });
  }
  bool waits(double plans) {
    for (const Metrics::Value& value : host_.metrics().values()) {
      if (value.name == "nomad.nomad.plan.queue_depth") return value.value >= plans;
    }
    return false;
  }
  std::jthread run() {
    return std::jthread([this](std::stop_token stop) { applier_.run(stop); });
  }

  EvalQueue queue_{host_.clock()};
  SharedColumns columns_{host_, tables_};
  PlanApplier applier_{host_, tables_, queue_};
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
  while (!waits(2)) std::this_thread::yield();
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
  host_.refuse("drover.v1.PlanApplied", unavailable("this server is not the leader"));
  const auto applier = run();
  EXPECT_EQ(submit(plan_of(job, "n1", 1), delivery).get().status().code(), Code::unavailable);
}

TEST_F(Applying, WhoWaitsWhenLeadershipEndsIsTold) {
  const v1::Job job = job_named("job");
  const Delivery delivery = in_flight(job);
  std::stop_source stop;
  auto waiting = submit(plan_of(job, "n1", 1), delivery, stop.get_token());
  while (!waits(1)) std::this_thread::yield();
  stop.request_stop();
  EXPECT_EQ(waiting.get().status().code(), Code::cancelled);
  // A plan that nobody waits for any more is not done either.
  const v1::Job other = job_named("other");
  const Delivery second = in_flight(other);
  const auto applier = run();
  EXPECT_TRUE(submit(plan_of(other, "n1", 1), second).get().ok());
  EXPECT_TRUE(allocs_of(job).empty());
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
  PlanApplier strict(host_, tables_, queue_, {.enabled = true, .node_threshold = 2});
  const std::jthread applier([&](std::stop_token stop) { strict.run(stop); });
  for (const char* name : {"first", "second", "third"}) {
    const v1::Job job = job_named(name);
    const Delivery delivery = in_flight(job);
    const auto outcome = strict.submit(plan_of(job, "n1", 3), delivery, {});
    ASSERT_TRUE(outcome.ok());
    EXPECT_FALSE(outcome->full);
  }
  ASSERT_EQ(closed.size(), 1U);
  EXPECT_EQ(closed[0].node_id(), id_of("n1"));
  EXPECT_EQ(closed[0].eligibility(), "ineligible");
  EXPECT_EQ(closed[0].event().message(), "Node marked as ineligible for scheduling due to multiple plan rejections");
  EXPECT_EQ(closed[0].event().subsystem(), "Scheduler");
}

}  // namespace
}  // namespace drover::scheduler
