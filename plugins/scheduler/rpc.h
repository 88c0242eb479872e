// The handlers of the Evaluations and Allocations services: what operators and tools ask. Reads are functions of the
// call's view.
#pragma once

#include <optional>
#include <string_view>

#include "drover/api/allocations.pb.h"
#include "drover/api/evaluations.pb.h"
#include "drover/encoded.h"
#include "drover/node_locator.h"
#include "drover/plugin.h"
#include "tables.h"

namespace drover::scheduler {

class Rpc final : public NodeLocator {
 public:
  explicit Rpc(const Tables& tables) : tables_(tables) {}
  Status declare(Declarations& declare);
  Status start(Host& host);

  // The node that runs an allocation. [any]
  Result<Uuid> locate(std::string_view id) const override;

 private:
  Result<Encoded<v1::ListEvaluationsResponse>> list_evals(const v1::ListEvaluationsRequest& request, Call& call);
  Result<v1::CountEvaluationsResponse> count_evals(const v1::ListEvaluationsRequest& request, Call& call);
  Result<v1::DeleteEvaluationsResponse> delete_evals(const v1::DeleteEvaluationsRequest& request, Call& call);
  Result<v1::EvaluationResponse> get_eval(const v1::EvaluationRequest& request, Call& call);
  Result<v1::AllocationStubsResponse> allocs_of_eval(const v1::EvaluationRequest& request, Call& call);
  Result<v1::ListEvaluationsResponse> evals_of_job(const v1::OfJobRequest& request, Call& call);

  Result<v1::AllocationStubsResponse> list_allocs(const v1::ListAllocationsRequest& request, Call& call);
  Result<v1::AllocationResponse> get_alloc(const v1::AllocationRequest& request, Call& call);
  Result<Write<v1::StopAllocationResponse>> stop_alloc(const v1::StopAllocationRequest& request, Call& call);
  Result<v1::AllocationStubsResponse> allocs_of_job(const v1::OfJobRequest& request, Call& call);
  Result<v1::FullAllocationsResponse> allocs_of_node(const v1::OfNodeRequest& request, Call& call);

  std::optional<v1::Job> job_of(const v1::Allocation& alloc, const ReadView& view) const;

  const Tables& tables_;
  Host* host_ = nullptr;
};

}  // namespace drover::scheduler
