// The handlers of Trials: what an evaluation of a job would decide, without one, which writes and enqueues nothing; and
// a run that does exactly that.
#pragma once

#include "columns.h"
#include "drover/plugin.h"
#include "drover/v1/trial.pb.h"
#include "plans/exact_runs.h"
#include "tables.h"
#include "workers/workers.h"

namespace drover::scheduler {

class TrialRpc {
 public:
  explicit TrialRpc(const Tables& tables) : tables_(tables) {}
  Status declare(Declarations& declare);
  // `types`: may be empty for all. Requires: `columns` and
  // `exact_runs` outlive every call.
  Status start(Host& host, SharedColumns& columns, ExactRuns& exact_runs, TypesNow types);

 private:
  Result<v1::TrialResponse> run(const v1::TrialRequest& request, Call& call);
  Result<v1::ExactRunResponse> apply(const v1::ExactRunRequest& request, Call& call);
  // Errors: invalid_argument.
  static Status check(const v1::Job& job, const Call& call);

  const Tables& tables_;
  TypesNow types_;
  Host* host_ = nullptr;
  SharedColumns* columns_ = nullptr;
  ExactRuns* exact_runs_ = nullptr;
};

}  // namespace drover::scheduler
