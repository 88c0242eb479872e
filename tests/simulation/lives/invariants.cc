#include "invariants.h"

#include <algorithm>
#include <set>

#include "drover/model/allocation.h"
#include "drover/model/deployment.h"
#include "drover/model/disconnect.h"
#include "drover/model/node.h"
#include "drover/uuid.h"

namespace drover::lives {
namespace {

constexpr std::string_view kUpdating = "alloc is being updated due to job update";

std::string short_id(const std::string& id) { return Uuid::from_bytes(id).to_string().substr(0, 8); }

bool is_on_every_node(const v1::Job& job) { return job.type().starts_with("sys"); }

// Out of reach, or back and not yet decided about: it may stand beside its replacement.
bool is_in_doubt(const v1::Allocation& alloc, const Rows& rows) {
  if (alloc.client_status() == v1::CLIENT_STATUS_UNKNOWN || needs_reconnect(alloc)) return true;
  const auto node = rows.nodes.find(alloc.node_id());
  return node != rows.nodes.end() && node->second.status() == v1::NODE_STATUS_DISCONNECTED;
}

// No node is given more than it has: cpu, memory, disk, static and dynamic ports, cores.
void no_node_is_overcommitted(const Rows& rows, const Commit& commit, Problems& problems) {
  std::set<std::string> touched;
  for (const auto& changed : commit.allocs) {
    if (const auto at = rows.allocs.find(changed.id); at != rows.allocs.end()) touched.insert(at->second.node_id());
  }
  for (const std::string& id : touched) {
    const auto node = rows.nodes.find(id);
    if (node == rows.nodes.end()) continue;
    int64_t cpu = 0, memory = 0, disk = 0;
    std::set<int32_t> ports;
    std::set<uint32_t> cores;
    const auto say = [&](const std::string& what) {
      problems.push_back("no_node_is_overcommitted: " + node->second.name() + ": " + what);
    };
    for (const auto& [alloc_id, alloc] : rows.allocs) {
      if (alloc.node_id() != id || terminal(alloc)) continue;
      disk += alloc.allocated_resources().shared().disk_mb();
      for (const v1::PortMapping& port : alloc.allocated_resources().shared().ports()) {
        if (!ports.insert(port.value()).second) say("port " + std::to_string(port.value()) + " is given twice");
      }
      for (const auto& [task, share] : alloc.allocated_resources().tasks()) {
        cpu += share.cpu().cpu_shares();
        memory += share.memory().memory_mb();
        for (const uint32_t core : share.cpu().reserved_cores()) {
          if (!cores.insert(core).second) say("core " + std::to_string(core) + " is given twice");
        }
      }
    }
    const v1::NodeResources& has = node->second.node_resources();
    if (cpu > has.cpu().cpu_shares()) say(std::to_string(cpu) + " MHz are given");
    if (memory > has.memory().memory_mb()) say(std::to_string(memory) + " MB of memory are given");
    if (disk > has.disk().disk_mb()) say(std::to_string(disk) + " MB of disk are given");
  }
}

// A name has one live allocation in a version of a job, or one on each node where the job runs on every node. An
// allocation out of reach may stand beside it.
void a_name_has_one_holder(const Rows& rows, const Commit& commit, Problems& problems) {
  std::set<std::string> touched;
  for (const auto& changed : commit.allocs) {
    if (const auto at = rows.allocs.find(changed.id); at != rows.allocs.end()) touched.insert(at->second.job_id());
  }
  std::map<std::string, const v1::Allocation*> holders;
  for (const auto& [id, alloc] : rows.allocs) {
    if (!touched.contains(alloc.job_id()) || terminal(alloc) || is_in_doubt(alloc, rows)) continue;
    const v1::Job* job = rows.job_of(alloc);
    if (!job) continue;
    std::string key = alloc.name() + " of version " + std::to_string(alloc.job_version());
    if (is_on_every_node(*job)) key += " on " + alloc.node_name();
    const auto [at, is_first] = holders.try_emplace(key, &alloc);
    if (!is_first) {
      problems.push_back("a_name_has_one_holder: " + key + ": " + named(*at->second) + " and " + named(alloc));
    }
  }
}

// Once nothing is left to be looked at, a group has at most its count, and the canaries that are judged beside it.
void no_more_than_the_count(const Rows& rows, const Commit& commit, Problems& problems) {
  std::set<std::string> touched;
  for (const auto& changed : commit.allocs) {
    if (const auto at = rows.allocs.find(changed.id); at != rows.allocs.end()) touched.insert(at->second.job_id());
  }
  for (const std::string& id : touched) {
    const auto job = rows.jobs.find(id);
    if (job == rows.jobs.end() || is_on_every_node(job->second) || rows.is_pending(id)) continue;
    const v1::TaskGroup& group = job->second.task_groups(0);
    int allowed = job->second.stop() ? 0 : group.count();
    const v1::Deployment* deployment = rows.deployment_of(job->second);
    if (deployment && is_active(*deployment)) {
      const auto at = deployment->task_groups().find(group.name());
      if (at != deployment->task_groups().end() && !at->second.promoted()) allowed += at->second.desired_canaries();
    }
    int live = 0;
    for (const auto& [alloc_id, alloc] : rows.allocs) {
      if (alloc.job_id() == id && !terminal(alloc) && !is_in_doubt(alloc, rows)) ++live;
    }
    if (live > allowed) {
      problems.push_back("no_more_than_the_count: " + id + " has " + std::to_string(live) + " live, and may have " +
                         std::to_string(allowed));
    }
  }
}

// A rolling update replaces at most max_parallel at a time: what it placed waits to be healthy. One out of reach that
// has been replaced waits no longer, its replacement does.
void updates_keep_max_parallel(const Rows& rows, const Commit& commit, Problems& problems) {
  if (commit.allocs.empty()) return;
  std::map<std::string, int> waiting;  // by deployment
  for (const auto& [id, alloc] : rows.allocs) {
    if (terminal(alloc) || alloc.deployment_id().empty() || is_healthy(alloc)) continue;
    if (is_in_doubt(alloc, rows) && !alloc.next_allocation().empty()) continue;
    const auto previous = rows.allocs.find(alloc.previous_allocation());
    if (previous == rows.allocs.end() || previous->second.desired_description() != kUpdating) continue;
    // This deployment did not begin what another one had begun.
    const auto deployment = rows.deployments.find(alloc.deployment_id());
    if (deployment == rows.deployments.end() || alloc.create_index() < deployment->second.create_index()) continue;
    ++waiting[alloc.deployment_id()];
  }
  for (const auto& [id, count] : waiting) {
    const auto deployment = rows.deployments.find(id);
    if (deployment == rows.deployments.end() || !is_active(deployment->second)) continue;
    for (const auto& [alloc_id, alloc] : rows.allocs) {
      if (alloc.deployment_id() != id) continue;
      const v1::TaskGroup* group = rows.group_of(alloc);
      if (!group || group->update().max_parallel() >= count) break;
      problems.push_back("updates_keep_max_parallel: " + std::to_string(count) + " of " + alloc.job_id() +
                         " are replaced at the same time");
      break;
    }
  }
}

// A job has one deployment that is under way, and more canaries are not placed than were asked for. One that was out of
// reach may stand beside those that came in its stead.
void deployments_are_in_order(const Rows& rows, const Commit&, Problems& problems) {
  std::map<std::string, int> active;
  for (const auto& [id, deployment] : rows.deployments) {
    if (!is_active(deployment)) continue;
    const auto job = rows.jobs.find(deployment.job_id());
    if (job == rows.jobs.end() || job->second.create_index() != deployment.job_create_index()) continue;
    if (++active[deployment.job_id()] == 2) {
      problems.push_back("deployments_are_in_order: " + deployment.job_id() + " has two that are under way");
    }
    for (const auto& [name, group] : deployment.task_groups()) {
      const auto live = std::ranges::count_if(group.placed_canaries(), [&](const std::string& canary) {
        const auto at = rows.allocs.find(canary);
        return at != rows.allocs.end() && !terminal(at->second) && at->second.deployment_status().canary() &&
               at->second.alloc_states().empty() && !is_in_doubt(at->second, rows);
      });
      if (!group.promoted() && live > group.desired_canaries()) {
        problems.push_back("deployments_are_in_order: " + deployment.job_id() + " has " + std::to_string(live) +
                           " canaries, and wants " + std::to_string(group.desired_canaries()));
      }
    }
  }
}

// A drain leaves so many of a service running as max_parallel says, before its deadline.
void drains_leave_enough(const Rows& rows, const Commit& commit, int64_t now, Problems& problems) {
  constexpr int64_t kWindow = 5'000'000'000;  // deadlines this near count as passed
  std::set<std::string> told;                 // jobs
  for (const auto& changed : commit.allocs) {
    const auto at = rows.allocs.find(changed.id);
    if (at == rows.allocs.end() || !changed.before || changed.before->desired_transition().migrate()) continue;
    if (!at->second.desired_transition().migrate() || terminal(*changed.before)) continue;
    const auto node = rows.nodes.find(at->second.node_id());
    if (node == rows.nodes.end() || !node->second.drain()) continue;
    const bool is_drain = std::ranges::any_of(rows.evals, [&](const auto& eval) {
      return eval.second.modify_index() == commit.index && eval.second.triggered_by() == "node-drain";
    });
    if (!is_drain) return;  // a person's doing
    for (const auto& [id, other] : rows.nodes) {
      const v1::DrainStrategy& strategy = other.drain_strategy();
      if (other.drain() &&
          (strategy.deadline() < 0 || (strategy.force_deadline() > 0 && strategy.force_deadline() <= now + kWindow))) {
        return;
      }
    }
    told.insert(at->second.job_id());
  }
  for (const std::string& id : told) {
    const auto job = rows.jobs.find(id);
    if (job == rows.jobs.end() || job->second.type() != "service") continue;
    const v1::TaskGroup& group = job->second.task_groups(0);
    int left = 0;
    for (const auto& [alloc_id, alloc] : rows.allocs) {
      const bool works = alloc.deployment_status().has_healthy() ||
                         (alloc.deployment_id().empty() && alloc.client_status() == v1::CLIENT_STATUS_RUNNING);
      if (alloc.job_id() == id && !terminal(alloc) && works && !alloc.desired_transition().migrate()) ++left;
    }
    if (left < group.count() - std::max(group.migrate().max_parallel(), 1)) {
      problems.push_back("drains_leave_enough: " + id + " is left with " + std::to_string(left) + " of " +
                         std::to_string(group.count()));
    }
  }
}

// An ended allocation stays ended: the servers take nothing back that they stopped, and no end that a node reported.
void the_end_is_the_end(const Rows& rows, const Commit& commit, Problems& problems) {
  for (const auto& changed : commit.allocs) {
    const auto at = rows.allocs.find(changed.id);
    if (at == rows.allocs.end() || !changed.before) continue;
    const v1::Allocation &before = *changed.before, &after = at->second;
    if (server_terminal(before) && !server_terminal(after)) {
      problems.push_back("the_end_is_the_end: " + named(after) + " was stopped, and shall run again");
    }
    const bool had_ended = client_terminal(before) && before.client_status() != v1::CLIENT_STATUS_LOST;
    if (had_ended && before.client_status() != after.client_status() && !client_terminal(after)) {
      problems.push_back("the_end_is_the_end: " + named(after) + " had ended, and has another status");
    }
  }
}

// New work goes only where it may: to a node that takes some and meets the constraints, and never of a job that is
// stopped.
void placements_are_allowed(const Rows& rows, const Commit& commit, Problems& problems) {
  for (const auto& changed : commit.allocs) {
    const auto at = rows.allocs.find(changed.id);
    if (at == rows.allocs.end() || changed.before) continue;
    const auto node = rows.nodes.find(at->second.node_id());
    const auto say = [&](const std::string& what) {
      problems.push_back("placements_are_allowed: " + named(at->second) + " " + what);
    };
    if (node == rows.nodes.end()) {
      say("is on a node that is not there");
      continue;
    }
    const v1::Job* job = rows.job_of(at->second);
    if (!job) continue;
    const std::string& kind = node->second.meta().at("kind");
    for (const v1::Constraint& constraint : job->constraints()) {
      if (job->version() == at->second.job_version() && constraint.l_target() == "${meta.kind}" &&
          constraint.r_target() != kind) {
        say("is on a node of kind " + kind);
      }
    }
  }
}

// Whoever waits is waited for: a failed allocation that is to be replaced later, and an evaluation that found no room,
// name an evaluation that is there.
void what_waits_is_followed_up(const Rows& rows, const Commit& commit, Problems& problems) {
  for (const auto& changed : commit.allocs) {
    const auto at = rows.allocs.find(changed.id);
    if (at == rows.allocs.end() || at->second.followup_eval_id().empty()) continue;
    if (!rows.evals.contains(at->second.followup_eval_id())) {
      problems.push_back("what_waits_is_followed_up: " + named(at->second) +
                         " waits for an evaluation that is not there");
    }
  }
  for (const auto& [id, eval] : rows.evals) {
    if (eval.modify_index() != commit.index || eval.blocked_eval().empty()) continue;
    if (!rows.evals.contains(eval.blocked_eval())) {
      problems.push_back("what_waits_is_followed_up: evaluation " + short_id(id) + " left nothing blocked");
    }
  }
}

}  // namespace

std::string named(const v1::Allocation& alloc) { return alloc.name() + " " + short_id(alloc.id()); }

Problems broken_invariants(const Rows& rows, const Commit& commit, int64_t now) {
  Problems problems;
  no_node_is_overcommitted(rows, commit, problems);
  a_name_has_one_holder(rows, commit, problems);
  no_more_than_the_count(rows, commit, problems);
  updates_keep_max_parallel(rows, commit, problems);
  deployments_are_in_order(rows, commit, problems);
  drains_leave_enough(rows, commit, now, problems);
  the_end_is_the_end(rows, commit, problems);
  placements_are_allowed(rows, commit, problems);
  what_waits_is_followed_up(rows, commit, problems);
  return problems;
}

}  // namespace drover::lives
