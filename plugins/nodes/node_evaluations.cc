#include "node_evaluations.h"

#include <set>

#include "drover/keys.h"
#include "drover/schema.h"
#include "drover/uuid.h"
#include "drover/v1/allocation.pb.h"
#include "drover/v1/job.pb.h"

namespace drover::nodes {

bool concerns_scheduler(v1::NodeStatus from, v1::NodeStatus to) {
  if (from == to) return false;
  if (to == v1::NODE_STATUS_DOWN || to == v1::NODE_STATUS_DISCONNECTED || from == v1::NODE_STATUS_DISCONNECTED)
    return true;
  return to == v1::NODE_STATUS_READY;
}

std::vector<v1::Evaluation> node_evaluations(const ReadView& view, TableId allocs, TableId jobs, const v1::Node& node,
                                             int64_t now) {
  std::set<std::pair<std::string, std::string>> concerned;
  Table<v1::Allocation>(allocs).scan(view, kAllocsByNode, KeyRange::prefix(KeyBuilder().id(node.id()).view()),
                                     [&](v1::Allocation& alloc, std::string_view) {
                                       const auto status = alloc.client_status();
                                       const bool over = status == v1::CLIENT_STATUS_COMPLETE ||
                                                         status == v1::CLIENT_STATUS_FAILED ||
                                                         status == v1::CLIENT_STATUS_LOST;
                                       if (!over) concerned.emplace(alloc.namespace_(), alloc.job_id());
                                       return true;
                                     });
  std::vector<v1::Evaluation> evaluations;
  for (const auto& [name_space, job_id] : concerned) {
    auto job = Table<v1::Job>(jobs).get(view, KeyBuilder().text(name_space).text(job_id).view());
    v1::Evaluation eval;
    eval.set_id(Uuid::random().bytes());
    eval.set_namespace_(name_space);
    eval.set_priority(job ? job->priority() : 50);
    eval.set_type(job ? job->type() : "service");
    eval.set_triggered_by("node-update");
    eval.set_job_id(job_id);
    eval.set_node_id(node.id());
    eval.set_status(v1::EVAL_STATUS_PENDING);
    eval.set_create_time(now);
    eval.set_modify_time(now);
    evaluations.push_back(std::move(eval));
  }
  return evaluations;
}

}  // namespace drover::nodes
