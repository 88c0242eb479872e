// The handlers that explain: why allocations are where they are, and what would happen if. They write nothing.
#pragma once

#include <set>
#include <string>

#include "columns.h"
#include "drover/plugin.h"
#include "tables.h"

namespace drover::v1 {
class WhatIfRequest;
class WhatIfResponse;
class WhyAllocationRequest;
class WhyJobRequest;
class WhyResponse;
}  // namespace drover::v1

namespace drover::scheduler {

class WhyRpc {
 public:
  explicit WhyRpc(const Tables& tables) : tables_(tables) {}
  Status declare(Declarations& declare);
  // `types`: of jobs that this server schedules while it leads; empty: all. Requires: `columns` outlives every call.
  Status start(Host& host, SharedColumns& columns, std::set<std::string> types);

 private:
  Result<v1::WhyResponse> of_job(const v1::WhyJobRequest& request, Call& call);
  Result<v1::WhyResponse> of_allocation(const v1::WhyAllocationRequest& request, Call& call);
  Result<v1::WhatIfResponse> what_if(const v1::WhatIfRequest& request, Call& call);

  const Tables& tables_;
  std::set<std::string> types_;
  Host* host_ = nullptr;
  SharedColumns* columns_ = nullptr;
};

}  // namespace drover::scheduler
