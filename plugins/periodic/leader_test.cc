#include "leader.h"

#include <gtest/gtest.h>

#include <thread>

#include "drover/api/periodic.pb.h"
#include "drover/schema.h"
#include "drover/v1/commands.pb.h"
#include "drover/v1/job.pb.h"
#include "drover/v1/job_counts.pb.h"
#include "periodic.pb.h"
#include "rpc.h"
#include "sdk/testing/fake_host.h"
#include "tables.h"

namespace drover::periodic {
namespace {

using namespace std::chrono_literals;

// A leader over a state in memory, in which the jobs are what the test says. Launches are seen by the children that the
// owner of jobs is told to register.
class Launches : public ::testing::Test {
 protected:
  Launches() {
    tables_.jobs = Table<v1::Job>(host_.rows().add_table(jobs_table().spec()));
    tables_.counts = Table<v1::JobCounts>(host_.rows().add_table(job_counts_table().spec()));
    auto launches = declare_tables(host_.rows());
    EXPECT_TRUE(launches.ok());
    tables_.launches = *launches;
    EXPECT_TRUE(rpc_.declare(host_.rows()).ok());
    rpc_.start(host_);
  }
  ~Launches() override { stop(); }

  void lead() {
    thread_ = std::jthread([this](std::stop_token stop) { Leader(host_, tables_).run(stop); });
  }
  void stop() {
    if (!thread_.joinable()) return;
    thread_.request_stop();
    thread_.join();
  }

  int64_t now() { return host_.clock().wall_ns(); }
  // Every hour, submitted now.
  v1::Job hourly(const std::string& id = "a") {
    v1::Job job;
    job.set_namespace_("default");
    job.set_id(id);
    job.set_type("batch");
    job.set_priority(60);
    job.set_submit_time(now());
    job.mutable_periodic()->set_enabled(true);
    job.mutable_periodic()->set_spec("@hourly");
    return job;
  }
  void put(const v1::Job& job) {
    host_.commit([&](WriteTransaction& rows) { EXPECT_TRUE(tables_.jobs.put(rows, job).ok()); });
  }
  // Moves the clock, and wakes the leader by a commit that concerns nobody.
  void pass(std::chrono::nanoseconds time) {
    host_.forward_clock().advance(time);
    wake();
  }
  void wake() {
    v1::Job nobody = hourly("nobody");
    nobody.clear_periodic();
    put(nobody);
  }
  void put_counts(const std::string& job, int live, int open) {
    v1::JobCounts counts;
    counts.set_namespace_("default");
    counts.set_job_id(job);
    counts.set_live_allocations(live);
    counts.set_open_evaluations(open);
    host_.commit([&](WriteTransaction& rows) { EXPECT_TRUE(tables_.counts.put(rows, counts).ok()); });
  }
  std::optional<v1::PeriodicLaunch> row(const std::string& id = "a") {
    return tables_.launches.get(*host_.snapshot(), job_key("default", id));
  }
  bool eventually_launched_after(int64_t time, const std::string& id = "a") {
    return host_.eventually([&](const ReadView& view) {
      const auto row = tables_.launches.get(view, job_key("default", id));
      return row && row->launch() > time;
    });
  }
  int launches() {
    const auto all = host_.proposed();
    return static_cast<int>(std::ranges::count(all, "drover.v1.PeriodicLaunched"));
  }
  Result<v1::ForcePeriodicResponse> force(const std::string& id) {
    v1::ForcePeriodicRequest request;
    request.set_job_id(id);
    return host_.answer<v1::ForcePeriodicResponse>("/drover.v1.Periodic/Force", request);
  }

  drover::testing::FakeHost host_;
  LeaderTables tables_;
  Rpc rpc_{tables_};
  std::jthread thread_;
};

TEST_F(Launches, AJobThatIsDueGetsAChildWithAnEvaluation) {
  const v1::Job job = hourly();
  put(job);
  lead();
  pass(1h);
  ASSERT_TRUE(eventually_launched_after(job.submit_time()));
  stop();
  const auto told = host_.rows().told<v1::JobRegistered>();
  ASSERT_EQ(1U, told.size());
  const v1::Job& child = told[0].job();
  EXPECT_EQ("a/periodic-" + std::to_string(row()->launch() / 1'000'000'000), child.id());
  EXPECT_EQ(child.id(), child.name());
  EXPECT_EQ("a", child.parent_id());
  EXPECT_FALSE(child.has_periodic());
  EXPECT_EQ(0, row()->launch() % std::chrono::nanoseconds(1h).count()) << "the time that was due";
  EXPECT_EQ("periodic-job", told[0].evaluation().triggered_by());
  EXPECT_EQ(child.id(), told[0].evaluation().job_id());
  EXPECT_EQ(60, told[0].evaluation().priority());
}

TEST_F(Launches, GoOnFromTheLastOne) {
  put(hourly());
  lead();
  for (int launched = 0; launched < 3; ++launched) {
    const int64_t before = row() ? row()->launch() : now();
    pass(1h);
    ASSERT_TRUE(eventually_launched_after(before));
  }
  EXPECT_EQ(3, launches());
}

TEST_F(Launches, ANewLeaderCatchesUpOnce) {
  put(hourly());
  host_.forward_clock().advance(5h);
  lead();
  ASSERT_TRUE(eventually_launched_after(0));
  stop();
  lead();
  put(hourly("b"));
  pass(1h);
  ASSERT_TRUE(eventually_launched_after(0, "b"));
  stop();
  EXPECT_EQ(3, launches()) << "one for the five hours, then one each";
}

TEST_F(Launches, DoNotOverlapWhereTheJobSaysSo) {
  v1::Job job = hourly(), other = hourly("b");
  job.mutable_periodic()->set_prohibit_overlap(true);
  v1::Job child = hourly("a/periodic-1");
  child.clear_periodic();
  child.set_parent_id("a");
  put(job);
  put(other);
  put(child);
  put_counts("a/periodic-1", 0, 1);
  lead();
  pass(1h);
  ASSERT_TRUE(eventually_launched_after(0, "b"));
  EXPECT_FALSE(row("a"));
  EXPECT_TRUE(force("a").ok()) << "who forces it accepts the overlap";
  const int64_t forced = row("a")->launch();
  put_counts("a/periodic-1", 0, 0);
  pass(1h);
  EXPECT_TRUE(eventually_launched_after(forced, "a"));
}

TEST_F(Launches, EndWhenTheJobIsOffOrStoppedOrGone) {
  v1::Job off = hourly("off"), stopped = hourly("stopped");
  for (const v1::Job& job : {off, stopped, hourly("gone"), hourly("on")}) put(job);
  lead();
  off.mutable_periodic()->set_enabled(false);
  stopped.set_stop(true);
  put(off);
  put(stopped);
  host_.commit([&](WriteTransaction& rows) { tables_.jobs.erase(rows, job_key("default", "gone")); });
  pass(1h);
  ASSERT_TRUE(eventually_launched_after(0, "on"));
  stop();
  EXPECT_EQ(1, launches());
}

TEST_F(Launches, ARowGoesWithItsJob) {
  for (const char* id : {"a", "b"}) put(hourly(id));
  EXPECT_TRUE(force("a").ok());
  EXPECT_TRUE(force("b").ok());
  const auto erase = [&](const std::string& id) {
    host_.commit([&](WriteTransaction& rows) { tables_.jobs.erase(rows, job_key("default", id)); });
  };
  const auto forgotten = [&](const std::string& id) {
    return host_.eventually(
        [&](const ReadView& view) { return !view.get(tables_.launches.id(), job_key("default", id)); });
  };
  erase("a");
  lead();
  EXPECT_TRUE(forgotten("a")) << "gone before this server led";
  erase("b");
  EXPECT_TRUE(forgotten("b"));
}

TEST_F(Launches, OneThatCouldNotBeWrittenIsTriedAgain) {
  put(hourly());
  host_.refuse("drover.v1.PeriodicLaunched", unavailable("not now"));
  lead();
  pass(1h);
  ASSERT_TRUE(host_.wait_until_refused(1));
  host_.refuse("drover.v1.PeriodicLaunched", ok_status());
  EXPECT_TRUE(eventually_launched_after(0));
}

TEST_F(Launches, OneThatIsRefusedHoldsUpNobody) {
  put(hourly());
  host_.refuse("drover.v1.PeriodicLaunched", failed_precondition("its parent is stopped"));
  lead();
  pass(1h);
  ASSERT_TRUE(host_.wait_until_refused(1));
  host_.refuse("drover.v1.PeriodicLaunched", ok_status());
  const int64_t refused = now();
  pass(1h);
  ASSERT_TRUE(eventually_launched_after(0));
  EXPECT_GT(row()->launch(), refused - std::chrono::nanoseconds(1h).count());
  stop();
  EXPECT_EQ(1, launches());
}

TEST_F(Launches, AreForcedByWhoAsks) {
  v1::Job stopped = hourly("stopped"), other = hourly("other");
  stopped.set_stop(true);
  other.clear_periodic();
  for (const v1::Job& job : {hourly(), stopped, other}) put(job);
  const int64_t before = now();
  const auto answer = force("a");
  ASSERT_TRUE(answer.ok()) << answer.status().message();
  const auto told = host_.rows().told<v1::JobRegistered>();
  ASSERT_EQ(1U, told.size());
  EXPECT_EQ(told[0].evaluation().id(), answer->eval_id());
  EXPECT_EQ(row()->modify_index(), answer->eval_create_index());
  EXPECT_GE(row()->launch(), before);
  EXPECT_EQ("job not found", force("none").status().message());
  EXPECT_EQ("can't force launch non-periodic job", force("other").status().message());
  EXPECT_EQ("can't force run non-tracked job \"stopped\" (default)", force("stopped").status().message());
}

}  // namespace
}  // namespace drover::periodic
