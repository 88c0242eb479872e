// Evaluations that wait for storage, from the queue to a leading server.
#include <gtest/gtest.h>

#include <thread>

#include "deciding/system_scheduler.h"
#include "leader.h"
#include "testing/shell.h"
#include "testing/storage_world.h"

namespace drover::scheduler {
namespace {

using namespace std::chrono_literals;
using testing::add_plugin;
using testing::ask_volume;
using testing::id_of;
using testing::make_alloc;
using testing::make_eval;
using testing::make_job;
using testing::make_node;
using testing::StorageWorld;

v1::Evaluation blocked_on(const std::string& id, const v1::StorageWait& wait, uint64_t snapshot = 5) {
  v1::Job job = make_job();
  job.set_id("job of " + id);
  v1::Evaluation eval = make_eval(id, job);
  eval.set_status(v1::EVAL_STATUS_BLOCKED);
  eval.set_snapshot_index(snapshot);
  *eval.mutable_storage_wait() = wait;
  return eval;
}
v1::StorageWait wait_for(const std::string& volume, const std::string& plugin, bool only) {
  v1::StorageWait wait;
  if (!volume.empty()) wait.add_volumes(volume);
  if (!plugin.empty()) wait.add_plugins(plugin);
  wait.set_only(only);
  return wait;
}
std::string names(const std::vector<v1::Evaluation>& evals) {
  std::string text;
  for (const v1::Evaluation& eval : evals) text += (text.empty() ? "" : " ") + eval.id().substr(0, eval.id().find('.'));
  return text;
}

TEST(BlockedOnStorage, GoesOnByThatStorageAlone) {
  Blocked blocked;
  blocked.block(blocked_on("data", wait_for("data", "", true)));
  blocked.block(blocked_on("plugin", wait_for("", "p", true)));
  blocked.block(blocked_on("both", wait_for("logs", "", false)));
  v1::Evaluation room = blocked_on("room", {});
  room.clear_storage_wait();
  blocked.block(room);
  EXPECT_TRUE(blocked.awaits_storage());
  EXPECT_EQ(names(blocked.unblock_storage({"default", "other", "q"}, 6, {})), "");
  EXPECT_EQ(names(blocked.unblock_storage({"elsewhere", "data", ""}, 6, {})), "") << "of another namespace";
  EXPECT_EQ(names(blocked.unblock(id_of("n1"), "class", 6, {})), "both room") << "others are not helped by room";
  EXPECT_EQ(names(blocked.unblock_storage({"default", "data", ""}, 6, {})), "data");
  EXPECT_EQ(names(blocked.unblock_storage({"default", "logs", "p"}, 6, {})), "plugin");
  EXPECT_FALSE(blocked.awaits_storage());
}

TEST(BlockedOnStorage, WhatCameAfterItsSnapshotIsSeen) {
  Blocked blocked;
  blocked.unblock_storage({"default", "data", ""}, 7, {});
  blocked.unblock(id_of("n1"), "class", 9, {});
  EXPECT_TRUE(blocked.block(blocked_on("older", wait_for("data", "", true), 6)).runnable);
  EXPECT_FALSE(blocked.block(blocked_on("newer", wait_for("data", "", true), 7)).runnable) << "room does not count";
  EXPECT_FALSE(blocked.block(blocked_on("other", wait_for("logs", "", true), 6)).runnable);
  EXPECT_EQ(names(blocked.unblock_all_storage(8)), "newer other");
  EXPECT_TRUE(blocked.block(blocked_on("later", wait_for("logs", "", true), 7)).runnable) << "nobody knows";
  EXPECT_FALSE(blocked.block(blocked_on("latest", wait_for("logs", "", true), 8)).runnable);
}

class Waiting : public testing::ShellTest {
 protected:
  std::jthread lead() {
    return std::jthread([this](std::stop_token stop) { Leader(host_, tables_, columns_, exact_runs_, {}).run(stop); });
  }
  uint64_t put_volume(const v1::CsiVolume& volume) {
    return host_.commit([&](WriteTransaction& rows) { EXPECT_TRUE(csi_volumes_.put(rows, volume).ok()); });
  }
  uint64_t put_claim(const v1::CsiClaim& claim) {
    return host_.commit([&](WriteTransaction& rows) { EXPECT_TRUE(csi_claims_.put(rows, claim).ok()); });
  }
  uint64_t end_claim(const v1::CsiClaim& claim) {
    return host_.commit([&](WriteTransaction& rows) {
      csi_claims_.erase(rows, csi_claim_key(claim.namespace_(), claim.volume_id(), claim.alloc_id()));
    });
  }
  v1::Job wanting(const std::string& id, const std::string& volume) {
    v1::Job job = make_job();
    job.set_id(id);
    job.set_name(id);
    ask_volume(*job.mutable_task_groups(0), volume);
    put(job);
    return job;
  }
  bool eventually_placed(const v1::Job& job) {
    return host_.eventually([&](const ReadView& view) {
      return !tables_.allocs.list(view, kAllocsByJob, of_job(job.namespace_(), job.id())).empty();
    });
  }
  bool eventually_blocked(const v1::Job& job) {
    return host_.eventually([&](const ReadView& view) {
      for (const v1::Evaluation& eval : tables_.evals.list(view, kEvalsByJob, of_job(job.namespace_(), job.id()))) {
        if (eval.status() == v1::EVAL_STATUS_BLOCKED) return true;
      }
      return false;
    });
  }
  StorageWorld storage_;
  SharedColumns columns_{host_, tables_};
  ExactRuns exact_runs_;
};

TEST_F(Waiting, AVolumeThatIsRegisteredWakesWhoWaitsForIt) {
  v1::Node node = make_node("n1");
  add_plugin(node);
  put(node);
  const v1::Job job = wanting("web", "data");
  propose(make_eval("e", job));
  const auto leader = lead();
  ASSERT_TRUE(eventually_blocked(job));
  EXPECT_EQ(eval("e")->failed_tg_allocs().at("app").constraint_filtered().at("missing CSI Volume data"), 1);
  put_volume(storage_.add_volume("data"));
  EXPECT_TRUE(eventually_placed(job));
}

TEST_F(Waiting, TheEndOfAClaimWakesTheNextAndALaterLeaderKnows) {
  v1::Node node = make_node("n1");
  add_plugin(node);
  put(node);
  put_volume(storage_.add_volume("data"));
  const v1::Job other = wanting("other", "data");
  const v1::Allocation holder = make_alloc(other, 0, "n1");
  put(holder);
  v1::CsiClaim claim = storage_.claim("data", "other", "x", "n1");
  claim.set_alloc_id(holder.id());
  put_volume(storage_.volume("data"));
  put_claim(claim);
  const v1::Job job = wanting("web", "data");
  propose(make_eval("e", job));
  {
    const auto leader = lead();
    ASSERT_TRUE(eventually_blocked(job));
  }
  end_claim(claim);  // while nobody leads
  const auto leader = lead();
  EXPECT_TRUE(eventually_placed(job));
}

TEST_F(Waiting, APluginThatBecomesHealthyElsewhereWakesWhoWaitsForIt) {
  v1::Node node = make_node("n1");
  add_plugin(node).set_requires_controller_plugin(true);
  put(node);
  v1::Node far = make_node("n2");
  far.set_datacenter("far");
  put(far);
  put_volume(storage_.add_volume("data"));
  v1::Job job = make_job();
  job.set_datacenters(0, "dc1");
  ask_volume(*job.mutable_task_groups(0), "data");
  put(job);
  propose(make_eval("e", job));
  const auto leader = lead();
  ASSERT_TRUE(eventually_blocked(job));
  v1::CsiInfo& controller = (*far.mutable_csi_controller_plugins())["p"];
  controller.set_plugin_id("p");
  controller.set_healthy(true);
  controller.set_requires_controller_plugin(true);
  put(far);
  EXPECT_TRUE(eventually_placed(job));
}

TEST_F(Waiting, OneThatHasYetToClaimStandsInTheWayUntilItEnds) {
  v1::Node node = make_node("n1");
  add_plugin(node);
  put(node);
  put_volume(storage_.add_volume("data"));
  const v1::Job first = wanting("first", "data"), second = wanting("second", "data");
  propose(make_eval("e1", first));
  const auto leader = lead();
  ASSERT_TRUE(eventually_placed(first));
  propose(make_eval("e2", second));
  ASSERT_TRUE(eventually_blocked(second));
  v1::Allocation ended = allocs_of(first)[0];
  ended.set_client_status(v1::CLIENT_STATUS_FAILED);
  ended.set_desired_status(v1::DESIRED_STATUS_STOP);
  put(ended);
  EXPECT_TRUE(eventually_placed(second));
}

TEST_F(Waiting, ASystemJobWaitsOnceForAllNodes) {
  SystemScheduler system(/*is_sysbatch=*/false);
  ASSERT_TRUE(host_.rows().extend<Scheduler>("system", system).ok());
  for (const char* name : {"n1", "n2", "n3"}) {
    v1::Node node = make_node(name);
    add_plugin(node);
    put(node);
  }
  v1::Job job = make_job("system");
  ask_volume(*job.mutable_task_groups(0), "data", "multi-node-multi-writer");
  put(job);
  propose(make_eval("e", job));
  const auto leader = lead();
  ASSERT_TRUE(eventually_blocked(job));
  EXPECT_EQ(tables_.evals.list(*host_.snapshot(), kEvalsByJob, of_job("default", "web")).size(), 2U);
  put_volume(storage_.add_volume("data"));
  EXPECT_TRUE(host_.eventually([&](const ReadView& view) {
    return tables_.allocs.list(view, kAllocsByJob, of_job("default", "web")).size() == 3;
  }));
}

}  // namespace
}  // namespace drover::scheduler
