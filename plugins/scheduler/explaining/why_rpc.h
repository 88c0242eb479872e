// The handlers that explain: why allocations are where they are, and what would happen if. They write nothing.
#pragma once

#include "columns.h"
#include "drover/plugin.h"
#include "tables.h"
#include "workers/workers.h"

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
  // `types`: may be empty for all. Requires: `columns` outlives every call.
  Status start(Host& host, SharedColumns& columns, TypesNow types);

 private:
  Result<v1::WhyResponse> of_job(const v1::WhyJobRequest& request, Call& call);
  Result<v1::WhyResponse> of_allocation(const v1::WhyAllocationRequest& request, Call& call);
  Result<v1::WhatIfResponse> what_if(const v1::WhatIfRequest& request, Call& call);

  const Tables& tables_;
  TypesNow types_;
  Host* host_ = nullptr;
  SharedColumns* columns_ = nullptr;
};

}  // namespace drover::scheduler
