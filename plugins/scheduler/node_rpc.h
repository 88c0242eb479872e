// The handlers of NodeAllocations: what a node agent asks and reports about its allocations.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "drover/plugin.h"
#include "drover/v1/node_service.pb.h"
#include "reporting/report_merger.h"
#include "tables.h"

namespace drover::scheduler {

// Says why a report calls for another look at the job (the evaluation's trigger); empty when it does not.
// Pure.
std::string trigger_for(const v1::Allocation& before, const v1::Allocation& report, const v1::Job* job);

class NodeRpc {
 public:
  explicit NodeRpc(const Tables& tables) : tables_(tables) {}
  Status declare(Declarations& declare);
  Status start(Host& host);
  // Requires: no call is decided any more.
  void stop() { reports_.stop(); }

 private:
  Result<v1::WatchAllocationsResponse> watch(const v1::WatchAllocationsRequest& request, Call& call);
  Result<v1::FetchAllocationsResponse> fetch(const v1::FetchAllocationsRequest& request, Call& call);
  Result<Write<v1::UpdateAllocationsResponse>> update(const v1::UpdateAllocationsRequest& request, Call& call);

  // Errors: permission_denied, unless the proof is the node's own.
  Result<v1::Node> prove(const std::string& node_id, const std::string& proof, const ReadView& view) const;

  const Tables& tables_;
  Host* host_ = nullptr;
  ReportMerger reports_;
};

}  // namespace drover::scheduler
