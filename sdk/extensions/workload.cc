#include "drover/workload.h"

#include "drover/methods.h"
#include "drover/model/allocation.h"
#include "drover/model/node.h"
#include "drover/schema.h"
#include "drover/v1/allocation.pb.h"
#include "drover/v1/job.pb.h"
#include "drover/v1/node.pb.h"

namespace drover {

Workload workload_of(const v1::Allocation& allocation, const v1::Job& job, std::string task) {
  return {.name_space = allocation.namespace_(),
          .job = job.parent_id().empty() ? allocation.job_id() : job.parent_id(),
          .group = allocation.task_group(),
          .task = std::move(task)};
}

Workload workload_of(const ReadView& view, TableId jobs, const v1::Allocation& allocation, std::string task) {
  const auto job = Table<v1::Job>(jobs).get(view, job_key(allocation.namespace_(), allocation.job_id()));
  return workload_of(allocation, job ? *job : v1::Job::default_instance(), std::move(task));
}

Result<v1::Allocation> allocation_of_caller(const ReadView& view, TableId nodes, TableId allocs,
                                            std::string_view node_id, std::string_view proof,
                                            std::string_view allocation_id, int64_t now_ns) {
  const auto node = Table<v1::Node>(nodes).get(view, node_id);
  if (!node || !is_proof_of(*node, proof, now_ns)) return access_denied();
  auto allocation = Table<v1::Allocation>(allocs).get(view, allocation_id);
  if (!allocation || allocation->node_id() != node_id || client_terminal(*allocation)) return access_denied();
  return *std::move(allocation);
}

}  // namespace drover
