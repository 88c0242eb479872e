#include "workers/workers.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <condition_variable>
#include <mutex>
#include <thread>

#include "drover/api/operator.pb.h"
#include "drover/scheduler.h"
#include "drover/v1/deployment.pb.h"
#include "drover/v1/trial.pb.h"
#include "testing/shell.h"
#include "workers/workers_rpc.h"

namespace drover::scheduler {
namespace {

using Types = std::set<std::string>;

// Workers whose lives only wait for their end.
class LivingWorkers : public testing::ShellTest {
 protected:
  LivingWorkers() {
    EXPECT_TRUE(rpc_.declare(host_.rows()).ok());
    rpc_.start(host_);
    const auto life = [](const Types& types, const std::function<void(bool)>& is_busy, std::stop_token stop) {
      is_busy(types.contains("batch"));
      std::mutex mutex;
      std::unique_lock lock(mutex);
      std::condition_variable_any().wait(lock, stop, [] { return false; });
    };
    thread_ = std::jthread([this, life](std::stop_token stop) { workers_.run(host_.clock(), life, std::move(stop)); });
  }
  // Waits until there are so many, all with these types, busy or not.
  bool come_to_be(size_t count, const Types& types, bool is_busy) {
    for (const auto end = SystemClock().steady() + std::chrono::seconds(30); SystemClock().steady() < end;) {
      const auto members = workers_.members();
      const bool fit = std::ranges::all_of(members, [&](const Workers::Member& each) {
        return each.types == types && each.is_busy == is_busy;
      });
      if (members.size() == count && fit) return true;
      std::this_thread::yield();
    }
    return false;
  }
  Result<v1::SchedulerWorkersConfig> set(int64_t count, std::vector<std::string> types) {
    v1::SetSchedulerWorkersRequest request;
    request.set_num_schedulers(count);
    for (std::string& type : types) request.add_enabled_schedulers(std::move(type));
    return host_.answer<v1::SchedulerWorkersConfig>("/drover.v1.SchedulerWorkers/SetConfiguration", request);
  }

  Workers workers_{{.count = 2, .types = {"service"}}};
  WorkersRpc rpc_{workers_};
  std::jthread thread_;
};

TEST_F(LivingWorkers, AreAsManyAsSomebodySays) {
  ASSERT_TRUE(come_to_be(2, {"service"}, false));
  const Uuid first = workers_.members()[0].id;
  workers_.change({.count = 3, .types = {"batch"}});
  ASSERT_TRUE(come_to_be(3, {"batch"}, true));
  EXPECT_NE(first, workers_.members()[0].id);
  workers_.change({.count = 0, .types = {}});
  ASSERT_TRUE(come_to_be(0, {}, false));
  workers_.change({.count = 1, .types = {}});
  ASSERT_TRUE(come_to_be(1, {}, false));
  thread_ = {};
  EXPECT_TRUE(workers_.members().empty()) << "this server does not lead any more";
}

TEST_F(LivingWorkers, AreChangedByAnOperator) {
  const auto changed = set(1, {"_core", "batch"});
  ASSERT_TRUE(changed.ok()) << changed.status().message();
  EXPECT_EQ(1, changed->num_schedulers());
  ASSERT_EQ(1, changed->enabled_schedulers_size());
  EXPECT_EQ("batch", changed->enabled_schedulers(0));
  ASSERT_TRUE(come_to_be(1, {"batch"}, true));
  const auto list = host_.answer<v1::SchedulerWorkersResponse>("/drover.v1.SchedulerWorkers/List",
                                                                v1::SchedulerWorkersRequest());
  ASSERT_TRUE(list.ok() && list->schedulers_size() == 1);
  EXPECT_EQ("Scheduling", list->schedulers(0).workload_status());
}

TEST_F(LivingWorkers, RefuseWhatIsNone) {
  EXPECT_EQ("Invalid request: num_schedulers is from 0 to 1024", set(-1, {"batch"}).status().message());
  EXPECT_EQ("Invalid request: num_schedulers is from 0 to 1024", set(1025, {"batch"}).status().message());
  EXPECT_EQ("Invalid request: enabled_schedulers names no type of jobs", set(1, {"_core"}).status().message());
  EXPECT_EQ("Invalid request: server.enabled_schedulers: \"butch\" has no scheduler here; there are batch, everywhere, service",
            set(1, {"butch"}).status().message());
  EXPECT_TRUE(come_to_be(2, {"service"}, false)) << "nothing has changed";
}

}  // namespace
}  // namespace drover::scheduler
