// A job with its allocations, its nodes and its deployment, for tests of what the reconciler makes of them.
#pragma once

#include <map>
#include <set>
#include <string>
#include <vector>

#include "deciding/reconcile.h"
#include "testing/fixtures.h"

namespace drover::scheduler::testing {

inline constexpr int64_t kSecond = 1'000'000'000;
inline constexpr int64_t kNow = 1'000'000 * kSecond;

struct ReconcileWorld {
  v1::Job job = make_job();
  std::map<uint64_t, v1::Job> versions;
  std::vector<v1::Allocation> allocs;
  std::set<std::string> down;
  std::set<std::string> away;  // nodes out of reach
  std::vector<v1::Deployment> deployments;
  bool gone = false;

  Reconciled all(const std::string& eval = "eval") const {
    ReconcileInput input;
    input.job = gone ? nullptr : &job;
    input.is_batch = job.type() == "batch";
    input.allocs = allocs;
    input.deployment = deployments.empty() ? nullptr : &deployments.back();
    input.node_status = [this](const std::string& id) {
      return down.contains(id)   ? v1::NODE_STATUS_DOWN
             : away.contains(id) ? v1::NODE_STATUS_DISCONNECTED
                                 : v1::NODE_STATUS_READY;
    };
    input.version = [this](uint64_t version) -> const v1::Job* {
      auto at = versions.find(version);
      return at == versions.end() ? nullptr : &at->second;
    };
    input.may_stay = [](const v1::Allocation&, const v1::TaskGroup&) { return true; };
    input.now = kNow;
    input.eval_id = id_of(eval);
    return reconcile(input);
  }
  GroupPlan plan(const std::string& eval = "eval") const { return all(eval).groups["app"]; }

  v1::TaskGroup& group() { return *job.mutable_task_groups(0); }
  // The job as it stands becomes an earlier version.
  void next_version() {
    versions[job.version()] = job;
    job.set_version(job.version() + 1);
  }
  // The same, with a change that needs new allocations.
  void next_destructive_version() {
    next_version();
    group().mutable_tasks(0)->set_user("other" + std::to_string(job.version()));
  }
  void run(int count) {
    for (int i = 0; i < count; ++i) allocs.push_back(make_alloc(job, i, "n" + std::to_string(i)));
  }
  v1::UpdateStrategy& update(int max_parallel) {
    group().mutable_update()->set_max_parallel(max_parallel);
    return *group().mutable_update();
  }
  // A deployment of the job's present version.
  v1::DeploymentState& deploy(v1::DeploymentStatus status, int total) {
    v1::Deployment& deployment = deployments.emplace_back();
    deployment.set_id(id_of("deployment" + std::to_string(deployments.size())));
    deployment.set_namespace_(job.namespace_());
    deployment.set_job_id(job.id());
    deployment.set_job_version(job.version());
    deployment.set_job_create_index(job.create_index());
    deployment.set_status(status);
    v1::DeploymentState& state = (*deployment.mutable_task_groups())["app"];
    state.set_desired_total(total);
    return state;
  }
  enum class Health { unset, healthy, unhealthy };
  // Adds an allocation of the newest deployment.
  v1::Allocation& add_deployed(int index, Health health = Health::unset, bool canary = false) {
    v1::Allocation& alloc = allocs.emplace_back(make_alloc(job, index, "d" + std::to_string(index)));
    alloc.set_create_index(30);
    alloc.set_deployment_id(deployments.back().id());
    if (health != Health::unset) alloc.mutable_deployment_status()->set_healthy(health == Health::healthy);
    if (canary) {
      alloc.mutable_deployment_status()->set_canary(true);
      (*deployments.back().mutable_task_groups())["app"].add_placed_canaries(alloc.id());
    }
    return alloc;
  }
};

inline std::vector<std::string> names(const std::vector<Placement>& placements) {
  std::vector<std::string> names;
  for (const Placement& placement : placements) names.push_back(placement.name);
  return names;
}

}  // namespace drover::scheduler::testing
