#include "leader.h"

#include <gtest/gtest.h>

#include <map>
#include <optional>
#include <random>
#include <set>
#include <thread>

#include "drover/model/allocation.h"
#include "drover/v1/node_pool.pb.h"
#include "testing/shell.h"

namespace drover::scheduler {
namespace {

using namespace std::chrono_literals;
using testing::id_of;
using testing::make_alloc;
using testing::make_eval;
using testing::make_job;
using testing::make_node;

constexpr const char* kPlanApplied = "drover.v1.PlansPacked";

class Leading : public testing::ShellTest {
 protected:
  // From now until the returned thread is gone this server leads.
  std::jthread lead(int workers = 1) {
    return std::jthread([this, workers](std::stop_token stop) {
      Leader(host_, tables_, columns_, exact_runs_, 
             {.workers = std::make_shared<Workers>(Workers::Settings{.count = workers})})
          .run(stop);
    });
  }
  v1::Job job_named(const std::string& id, int32_t count = 1) {
    v1::Job job = make_job("service", count);
    job.set_id(id);
    job.set_name(id);
    return job;
  }
  // Something happens, so that threads look at the clock again: an evaluation that nobody will ever take.
  void nudge() {
    v1::Evaluation nudge = make_eval("nudge" + std::to_string(++nudges_), job_named("nobody"));
    nudge.set_status(v1::EVAL_STATUS_BLOCKED);
    nudge.set_node_id(id_of("nowhere"));
    propose(nudge);
  }

  SharedColumns columns_{host_, tables_};
  ExactRuns exact_runs_;
  int nudges_ = 0;
};

TEST_F(Leading, WhatWasLeftUndoneIsDoneAndSoIsWhatComes) {
  put(make_node("n1"));
  const v1::Job left = job_named("left", 2), comes = job_named("comes");
  put(left);
  propose(make_eval("e1", left));
  const auto leader = lead();
  ASSERT_TRUE(eventually_has("e1", v1::EVAL_STATUS_COMPLETE));
  EXPECT_EQ(allocs_of(left).size(), 2U);

  put(comes);
  propose(make_eval("e2", comes));
  ASSERT_TRUE(eventually_has("e2", v1::EVAL_STATUS_COMPLETE));
  EXPECT_EQ(allocs_of(comes).size(), 1U);
  EXPECT_EQ(allocs_of(comes)[0].node_id(), id_of("n1"));
}

TEST_F(Leading, AJobOfMoreThanAnEntryHoldsComesInParts) {
  v1::Node node = make_node("n1", 10'000'000, 10'000'000);
  node.mutable_node_resources()->mutable_disk()->set_disk_mb(100'000'000);
  put(node);
  const v1::Job job = job_named("large", static_cast<int32_t>(2 * kMostPlacements + 10));
  put(job);
  propose(make_eval("e", job));
  const auto leader = lead();
  ASSERT_TRUE(eventually_has("e", v1::EVAL_STATUS_COMPLETE));
  EXPECT_EQ(allocs_of(job).size(), 2 * kMostPlacements + 10);
  EXPECT_EQ(std::ranges::count(host_.proposed(), kPlanApplied), 3);
  EXPECT_EQ(eval("e")->queued_allocations().at("app"), 0);
}

TEST_F(Leading, SeveralWorkersNeverOvercommitANode) {
  for (const char* name : {"n1", "n2", "n3"}) put(make_node(name, 4000));  // eight of 500 MHz each
  std::vector<v1::Job> jobs;
  for (int i = 0; i < 12; ++i) {
    jobs.push_back(job_named("job" + std::to_string(i), 2));
    put(jobs.back());
  }
  const auto leader = lead(4);
  for (size_t i = 0; i < jobs.size(); ++i) propose(make_eval("e" + std::to_string(i), jobs[i]));
  for (size_t i = 0; i < jobs.size(); ++i) {
    ASSERT_TRUE(eventually_has("e" + std::to_string(i), v1::EVAL_STATUS_COMPLETE)) << i;
  }
  std::map<std::string, int> on_node;
  for (const v1::Job& job : jobs) {
    const auto allocs = allocs_of(job);
    EXPECT_EQ(allocs.size(), 2U) << job.id();
    for (const v1::Allocation& alloc : allocs) ++on_node[alloc.node_id()];
  }
  for (const auto& [node, count] : on_node) EXPECT_LE(count, 8) << node;
}

TEST_F(Leading, WhatFindsNoRoomWaitsForIt) {
  put(make_node("small", 100));
  const v1::Job job = job_named("large");
  put(job);
  propose(make_eval("e", job));
  const auto leader = lead();
  ASSERT_TRUE(eventually_has("e", v1::EVAL_STATUS_COMPLETE));
  const auto done = eval("e");
  EXPECT_TRUE(done->failed_tg_allocs().contains("app"));
  EXPECT_EQ(done->queued_allocations().at("app"), 1);
  const auto blocked = tables_.evals.get(*host_.snapshot(), done->blocked_eval());
  ASSERT_TRUE(blocked);
  EXPECT_EQ(blocked->status(), v1::EVAL_STATUS_BLOCKED);
  EXPECT_EQ(blocked->previous_eval(), done->id());

  put(make_node("large"));
  ASSERT_TRUE(host_.eventually([&](const ReadView& view) {
    return tables_.evals.get(view, blocked->id())->status() == v1::EVAL_STATUS_COMPLETE;
  }));
  ASSERT_EQ(allocs_of(job).size(), 1U);
  EXPECT_EQ(allocs_of(job)[0].node_id(), id_of("large"));
}

TEST_F(Leading, ASchedulerOfAnotherPluginDecidesForItsTypeOfJobs) {
  put(make_node("n1"));
  put(make_node("n2"));
  for (const char* name : {"small", "tiny"}) put(make_node(name, 100));
  const v1::Job job = make_job("everywhere");
  put(job);
  propose(make_eval("e", job));
  const auto leader = lead();
  ASSERT_TRUE(eventually_has("e", v1::EVAL_STATUS_COMPLETE));
  EXPECT_EQ(allocs_of(job).size(), 2U);
  const auto waiting = [&](const ReadView& view) {
    std::vector<std::string> nodes;
    for (const v1::Evaluation& eval : tables_.evals.list(view, kEvalsByStatus, with_status(v1::EVAL_STATUS_BLOCKED))) {
      nodes.push_back(eval.node_id());
    }
    std::ranges::sort(nodes);
    return nodes;
  };
  EXPECT_EQ(waiting(*host_.snapshot()), (std::vector{id_of("small"), id_of("tiny")}));

  put(make_node("small"));
  ASSERT_TRUE(host_.eventually([&](const ReadView& view) { return waiting(view) == std::vector{id_of("tiny")}; }));
  EXPECT_EQ(allocs_of(job).size(), 3U);
}

TEST_F(Leading, RoomThatCameWhileNobodyLedIsNotMissed) {
  put(make_node("n1", 500));
  const v1::Job first = job_named("first"), second = job_named("second");
  put(first);
  put(second);
  v1::Allocation holder = make_alloc(first, 0, "n1");
  put(holder);
  v1::Evaluation blocked = make_eval("b", second);
  blocked.set_status(v1::EVAL_STATUS_BLOCKED);
  blocked.set_snapshot_index(host_.snapshot()->index());
  (*blocked.mutable_class_eligibility())["v1:n1"] = true;
  propose(blocked);
  holder.set_client_status(v1::CLIENT_STATUS_COMPLETE);
  holder.set_modify_index(host_.snapshot()->index() + 1);
  put(holder);

  const auto leader = lead();
  ASSERT_TRUE(eventually_has("b", v1::EVAL_STATUS_COMPLETE));
  EXPECT_EQ(allocs_of(second).size(), 1U);
}

TEST_F(Leading, AFeedThatFellBehindBeginsAnew) {
  put(make_node("n1"));
  const v1::Job job = job_named("job");
  put(job);
  const auto leader = lead();
  propose(make_eval("e1", job));
  ASSERT_TRUE(eventually_has("e1", v1::EVAL_STATUS_COMPLETE));
  host_.resync();
  const v1::Job other = job_named("other");
  put(other);
  propose(make_eval("e2", other));
  ASSERT_TRUE(eventually_has("e2", v1::EVAL_STATUS_COMPLETE));
  EXPECT_EQ(allocs_of(other).size(), 1U);
  EXPECT_EQ(allocs_of(job).size(), 1U);
}

TEST_F(Leading, LeadershipThatEndsInTheMiddleLeavesTheRestToTheNext) {
  put(make_node("n1"));
  const v1::Job job = job_named("job");
  put(job);
  propose(make_eval("e", job));
  host_.refuse(kPlanApplied, unavailable("this server is not the leader"));
  {
    const auto leader = lead(2);
    ASSERT_TRUE(host_.wait_until_refused(1));
  }
  EXPECT_EQ(eval("e")->status(), v1::EVAL_STATUS_PENDING);
  EXPECT_TRUE(allocs_of(job).empty());

  host_.refuse(kPlanApplied, ok_status());
  const auto next = lead();
  ASSERT_TRUE(eventually_has("e", v1::EVAL_STATUS_COMPLETE));
  EXPECT_EQ(allocs_of(job).size(), 1U);
}

TEST_F(Leading, OneThatFailsEachTimeIsGivenUpWithASuccessor) {
  put(make_node("n1"));
  const v1::Job job = job_named("job");
  put(job);
  propose(make_eval("e", job));
  host_.refuse(kPlanApplied, unavailable("the disk is full"));
  const auto leader = lead();
  // The waits between the deliveries pass quickly here; each refusal shows that one was made.
  for (int refusals = 1; refusals <= 3; ++refusals) {
    ASSERT_TRUE(host_.wait_until_refused(refusals));
    if (refusals == 3) break;
    while (!host_.wait_until_refused(refusals + 1, 10ms)) {
      host_.forward_clock().advance(1s);
      nudge();
    }
  }
  ASSERT_TRUE(eventually_has("e", v1::EVAL_STATUS_FAILED));
  const auto failed = eval("e");
  EXPECT_EQ(failed->status_description(), "evaluation reached delivery limit (3)");
  const auto next = tables_.evals.get(*host_.snapshot(), failed->next_eval());
  ASSERT_TRUE(next);
  EXPECT_EQ(next->triggered_by(), "failed-follow-up");
  EXPECT_EQ(next->previous_eval(), failed->id());
  EXPECT_EQ(next->status(), v1::EVAL_STATUS_PENDING);
  EXPECT_GE(next->wait(), std::chrono::nanoseconds(1min).count());
}

TEST_F(Leading, ATypeWithoutASchedulerFailsAtOnceWithAReason) {
  v1::Job job = job_named("everywhere");
  job.set_type("nowhere");
  put(job);
  propose(make_eval("e", job));
  const auto leader = lead();
  ASSERT_TRUE(eventually_has("e", v1::EVAL_STATUS_FAILED));
  EXPECT_EQ(eval("e")->status_description(), "job type \"nowhere\" is not supported by this version of drover");
}

TEST_F(Leading, WhatAnEarlierJobOfThatNameAndAnotherTypeLeftIsCancelled) {
  put(make_node("n1"));
  const v1::Job job = job_named("web");
  put(job);
  v1::Evaluation left = make_eval("left", job);
  left.set_type("everywhere");
  propose(left);
  const auto leader = lead();
  ASSERT_TRUE(eventually_has("left", v1::EVAL_STATUS_CANCELED));
  EXPECT_EQ(eval("left")->status_description(), "the job is of another type by now");
  EXPECT_TRUE(allocs_of(job).empty());
}

TEST_F(Leading, OnlyTypesWithASchedulerCanBeEnabled) {
  const auto some = enabled_types(host_, {"batch", "everywhere"});
  ASSERT_TRUE(some.ok());
  EXPECT_EQ(*some, (std::set<std::string>{"batch", "everywhere"}));
  EXPECT_TRUE(enabled_types(host_, {"batch", "system", "_core"}).ok()) << "a configuration of Nomad's starts";
  EXPECT_EQ(enabled_types(host_, {"batch", "sistem"}).status().message(),
            "server.enabled_schedulers: \"sistem\" has no scheduler here; there are batch, everywhere, service");
}

TEST_F(Leading, AStoppedJobLosesItsAllocationsAndItsBlockedEvaluation) {
  put(make_node("n1"));
  v1::Job job = job_named("job", 20);  // more than fits
  put(job);
  propose(make_eval("e", job));
  const auto leader = lead();
  ASSERT_TRUE(eventually_has("e", v1::EVAL_STATUS_COMPLETE));
  EXPECT_EQ(allocs_of(job).size(), 8U);
  const std::string blocked = eval("e")->blocked_eval();
  job.set_stop(true);
  job.set_version(1);
  put(job);
  propose(make_eval("stop", job));
  ASSERT_TRUE(eventually_has("stop", v1::EVAL_STATUS_COMPLETE));
  for (const v1::Allocation& alloc : allocs_of(job)) EXPECT_TRUE(server_terminal(alloc));
  EXPECT_EQ(tables_.evals.get(*host_.snapshot(), blocked)->status(), v1::EVAL_STATUS_CANCELED);
}

TEST_F(Leading, ItsGaugesTellOfJobsWhileItLeads) {
  const auto gauges = [this] {
    std::map<std::string, double> found;  // of the group of "web", and of all jobs
    for (const Metrics::Value& value : host_.metrics().values()) {
      const bool is_webs = std::ranges::count(value.labels, std::pair<std::string, std::string>("job", "web")) == 1;
      if (is_webs || value.name.starts_with("nomad.nomad.job_status.")) found[value.name] = value.value;
    }
    return found;
  };
  const auto becomes = [&](const std::string& name, double value) {
    const SteadyTime deadline = SystemClock().steady() + drover::testing::FakeHost::kPatience;
    while (SystemClock().steady() < deadline) {
      const auto found = gauges();
      if (found.contains(name) && found.at(name) == value) return true;
      std::this_thread::yield();
    }
    return false;
  };
  put(make_node("n1"));
  const v1::Job web = job_named("web", 2);
  put(web);
  {
    const auto leader = lead();
    propose(make_eval("e1", web));
    ASSERT_TRUE(eventually_has("e1", v1::EVAL_STATUS_COMPLETE));
    EXPECT_TRUE(becomes("nomad.nomad.job_summary.starting", 2));
    EXPECT_TRUE(becomes("nomad.nomad.job_status.pending", 1));
    EXPECT_EQ(gauges().at("nomad.nomad.job_summary.failed"), 0);
  }
  EXPECT_EQ(gauges(), (std::map<std::string, double>())) << "another server leads";
}

TEST_F(Leading, TheSameEvaluationTwiceChangesNothing) {
  put(make_node("n1"));
  const v1::Job job = job_named("job", 3);
  put(job);
  const auto leader = lead(2);
  propose(make_eval("e1", job));
  ASSERT_TRUE(eventually_has("e1", v1::EVAL_STATUS_COMPLETE));
  propose(make_eval("e2", job));
  ASSERT_TRUE(eventually_has("e2", v1::EVAL_STATUS_COMPLETE));
  EXPECT_EQ(allocs_of(job).size(), 3U);
  for (const v1::Allocation& alloc : allocs_of(job)) EXPECT_FALSE(server_terminal(alloc));
}

TEST_F(Leading, ANewClusterGetsItsSettings) {
  const auto leader = lead();
  ASSERT_TRUE(host_.eventually([&](const ReadView& view) { return tables_.config.get(view, "").has_value(); }));
}

TEST_F(Leading, APausedBrokerHandsOutAgainWhenTheOperatorSaysSo) {
  const auto pause = [&](bool paused) {
    v1::SchedulerConfiguration row;
    row.set_pause_eval_broker(paused);
    return host_.commit([&](WriteTransaction& rows) { EXPECT_TRUE(tables_.config.put(rows, row).ok()); });
  };
  put(make_node("n1"));
  const v1::Job job = job_named("job");
  put(job);
  pause(true);
  propose(make_eval("e", job));
  const auto leader = lead();
  const uint64_t resumed = pause(false);
  ASSERT_TRUE(eventually_has("e", v1::EVAL_STATUS_COMPLETE));
  EXPECT_GT(allocs_of(job).at(0).create_index(), resumed);
}

TEST_F(Leading, G18ABlockedEvaluationThatStillFindsNoRoomWritesNothing) {
  const auto decided = [this] {
    for (const Metrics::Value& value : host_.metrics().values()) {
      if (value.name == "nomad.nomad.worker.invoke_scheduler.service") return value.count;
    }
    return uint64_t{0};
  };
  put(make_node("small", 100));
  const v1::Job job = job_named("large");
  put(job);
  propose(make_eval("e", job));
  const auto leader = lead();
  ASSERT_TRUE(eventually_has("e", v1::EVAL_STATUS_COMPLETE));
  const std::string id = eval("e")->blocked_eval();
  const auto blocked = [&] { return tables_.evals.get(*host_.snapshot(), id).value(); };
  const uint64_t written = blocked().modify_index(), before = decided();
  const size_t proposed = host_.proposed().size();
  put(make_node("also small", 100));
  while (decided() == before) std::this_thread::yield();
  EXPECT_EQ(blocked().modify_index(), written);
  EXPECT_EQ(host_.proposed().size(), proposed);

  put(make_node("large"));
  ASSERT_TRUE(host_.eventually([&](const ReadView& view) {
    return tables_.evals.get(view, id)->status() == v1::EVAL_STATUS_COMPLETE;
  })) << "it goes on waiting";
  EXPECT_EQ(allocs_of(job).size(), 1U);
}

// Leaders fall again and again with plans in flight; whoever leads next, or the same one unknowingly, goes on.
TEST_F(Leading, WhateverLeadersLeaveInFlightEverythingFindsItsPlaceOnce) {
  constexpr int kJobs = 16, kCount = 3, kNodes = 6;  // as many as fit: 48 of 500 MHz
  std::mt19937 random(11);
  const auto below = [&](unsigned limit) { return random() % limit; };
  for (int i = 0; i < kNodes; ++i) put(make_node("n" + std::to_string(i), 4000));
  std::vector<v1::Job> jobs;
  for (int i = 0; i < kJobs; ++i) {
    jobs.push_back(job_named("job" + std::to_string(i), kCount));
    put(jobs.back());
  }
  host_.hold();
  std::optional<std::jthread> leader = lead(3);
  const auto placed = [&] {
    size_t count = 0;
    for (const v1::Job& job : jobs) count += allocs_of(job).size();
    return count;
  };
  size_t next = 0;
  for (int round = 0; round < 60; ++round) {
    for (auto more = below(3); more > 0 && next < jobs.size(); --more, ++next) {
      propose(make_eval("e" + std::to_string(next), jobs[next]));
    }
    (void)host_.wait_until_held(1 + below(3), 5ms);
    if (below(4) > 0) {
      host_.release(below(3));
    } else {
      if (below(2) == 0) leader.reset();
      host_.lose(below(3));
      if (!leader) leader = lead(3);
    }
    host_.forward_clock().advance(1s);
    nudge();
  }
  host_.release();
  const SteadyTime deadline = SystemClock().steady() + 30s;
  while (placed() < kJobs * kCount && SystemClock().steady() < deadline) {
    host_.forward_clock().advance(30s);  // what was given up has a successor
    nudge();
    std::this_thread::yield();
  }
  std::map<std::string, int> on_node;
  for (const v1::Job& job : jobs) {
    std::set<std::string> names;
    for (const v1::Allocation& alloc : allocs_of(job)) {
      EXPECT_TRUE(names.insert(alloc.name()).second) << alloc.name() << " runs twice";
      ++on_node[alloc.node_id()];
    }
    EXPECT_EQ(names.size(), size_t{kCount}) << job.id();
  }
  for (const auto& [node, count] : on_node) EXPECT_LE(count, 8) << node;
  leader.reset();
  const auto look = columns_.look(0, host_.clock().steady() + 5s, {});
  ASSERT_TRUE(look.ok());
  for (const auto& [node, count] : on_node) EXPECT_EQ(look->cluster.room(node)->used().cpu, 500 * count);
}

TEST_F(Leading, AJobsPoolSaysHowItIsPlaced) {
  v1::Node full = make_node("full"), empty = make_node("empty");
  for (v1::Node* node : {&full, &empty}) {
    node->set_node_pool("wide");
    put(*node);
  }
  put(make_alloc(job_named("other"), 0, "full", v1::CLIENT_STATUS_RUNNING));
  host_.commit([&](WriteTransaction& rows) {
    v1::NodePool pool;
    pool.set_name("wide");
    pool.mutable_scheduler_configuration()->set_scheduler_algorithm("spread");
    EXPECT_TRUE(Table<v1::NodePool>(*tables_.node_pools).put(rows, pool).ok());
  });
  v1::Job job = job_named("job");
  job.set_node_pool("wide");
  put(job);
  propose(make_eval("e", job));
  const auto leader = lead();
  ASSERT_TRUE(eventually_has("e", v1::EVAL_STATUS_COMPLETE));
  EXPECT_EQ(allocs_of(job).at(0).node_id(), empty.id());
}

}  // namespace
}  // namespace drover::scheduler
