#include "node_evaluations.h"

#include <set>

#include "drover/model/allocation.h"
#include "drover/model/disconnect.h"
#include "drover/model/evaluation.h"
#include "drover/model/job.h"
#include "drover/model/node.h"
#include "drover/schema.h"
#include "drover/uuid.h"
#include "drover/v1/allocation.pb.h"
#include "drover/v1/evaluation.pb.h"
#include "drover/v1/job.pb.h"
#include "drover/v1/node.pb.h"

namespace drover::nodes {

bool concerns_scheduler(v1::NodeStatus from, v1::NodeStatus to) {
  if (from == to) return false;
  if (to == v1::NODE_STATUS_DOWN || to == v1::NODE_STATUS_DISCONNECTED || from == v1::NODE_STATUS_DISCONNECTED)
    return true;
  return to == v1::NODE_STATUS_READY;
}

void add_node_evaluations(const ReadView& view, TableId allocs, TableId jobs, const v1::Node& node,
                          google::protobuf::RepeatedPtrField<v1::Evaluation>& evaluations) {
  const Table<v1::Job> all_jobs(jobs);
  std::set<std::string> concerned;  // keys of jobs
  const auto evaluate = [&](std::string_view name_space, std::string_view job_id, const v1::Job* job) {
    v1::Evaluation& eval = *evaluations.Add();
    eval = new_evaluation(Uuid::random().bytes(), name_space, job_id, job, "node-update");
    eval.set_node_id(node.id());
    eval.set_node_modify_index(node.modify_index());
  };
  Table<v1::Allocation>(allocs).scan(view, kAllocsByNode, of_id(node.id()), [&](v1::Allocation& alloc, auto) {
    const std::string key = job_key(alloc.namespace_(), alloc.job_id());
    if (!concerned.insert(key).second) return true;
    const auto job = all_jobs.get(view, key);
    // A job that is gone or stopped is concerned by what the node still runs of it.
    if ((!job || job->stop()) && client_terminal(alloc)) return concerned.erase(key), true;
    evaluate(alloc.namespace_(), alloc.job_id(), job ? &*job : nullptr);
    return true;
  });
  all_jobs.scan(view, kJobsOnEveryNode, KeyRange::all(), [&](v1::Job& job, std::string_view) {
    if (job.stop() || !in_reach(job, node)) return true;
    if (concerned.insert(job_key(job.namespace_(), job.id())).second) evaluate(job.namespace_(), job.id(), &job);
    return true;
  });
}

v1::NodeStatus status_when_silent(const ReadView& view, TableId allocs, TableId job_versions, const v1::Node& node,
                                  int64_t now) {
  if (node.status() != v1::NODE_STATUS_READY && node.status() != v1::NODE_STATUS_DISCONNECTED) {
    return v1::NODE_STATUS_DOWN;
  }
  bool waits = false;
  Table<v1::Allocation>(allocs).scan(view, kAllocsByNode, of_id(node.id()), [&](v1::Allocation& alloc, auto) {
    if (terminal(alloc)) return true;
    const auto job = Table<v1::Job>(job_versions)
                         .get(view, job_version_key(alloc.namespace_(), alloc.job_id(), alloc.job_version()));
    const v1::TaskGroup* group = job ? find_group(*job, alloc.task_group()) : nullptr;
    waits = group && lost_after(*group) && !expired(alloc, *group, now);
    return !waits;
  });
  return waits ? v1::NODE_STATUS_DISCONNECTED : v1::NODE_STATUS_DOWN;
}

v1::NodeStatus status_when_heard(const ReadView& view, TableId allocs, const v1::Node& node, v1::NodeStatus wanted) {
  if (wanted != v1::NODE_STATUS_READY) return wanted;
  if (node.status() == v1::NODE_STATUS_DISCONNECTED) return v1::NODE_STATUS_INITIALIZING;
  if (node.status() != v1::NODE_STATUS_INITIALIZING || node.last_missed_heartbeat_index() == 0 ||
      node.last_alloc_update_index() > node.last_missed_heartbeat_index()) {
    return wanted;
  }
  bool has_work = false;
  Table<v1::Allocation>(allocs).scan(view, kAllocsByNode, of_id(node.id()), [&](v1::Allocation& alloc, auto) {
    has_work = !terminal(alloc);
    return !has_work;
  });
  return has_work ? v1::NODE_STATUS_INITIALIZING : wanted;
}

}  // namespace drover::nodes
