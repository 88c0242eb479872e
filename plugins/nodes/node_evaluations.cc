#include "node_evaluations.h"

#include <set>

#include "drover/model/allocation.h"
#include "drover/model/evaluation.h"
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
  std::set<std::pair<std::string, std::string>> concerned;
  const auto note = [&](const v1::Allocation& alloc, std::string_view) {
    if (!client_terminal(alloc)) concerned.emplace(alloc.namespace_(), alloc.job_id());
    return true;
  };
  Table<v1::Allocation>(allocs).scan(view, kAllocsByNode, of_id(node.id()), note);
  for (const auto& [name_space, job_id] : concerned) {
    const auto job = Table<v1::Job>(jobs).get(view, job_key(name_space, job_id));
    v1::Evaluation& eval = *evaluations.Add();
    eval = new_evaluation(Uuid::random().bytes(), name_space, job_id, job ? &*job : nullptr, "node-update");
    eval.set_node_id(node.id());
  }
}

}  // namespace drover::nodes
