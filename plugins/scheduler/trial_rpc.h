// The handler of Trials: what an evaluation of a job would decide, without one. Writes nothing, enqueues nothing.
#pragma once

#include <set>
#include <string>

#include "columns.h"
#include "drover/plugin.h"
#include "drover/v1/trial.pb.h"
#include "tables.h"

namespace drover::scheduler {

class TrialRpc {
 public:
  explicit TrialRpc(const Tables& tables) : tables_(tables) {}
  Status declare(Declarations& declare);
  // `types`: of jobs that this server schedules while it leads; empty: all. Requires: `columns` outlives every call.
  Status start(Host& host, SharedColumns& columns, std::set<std::string> types);

 private:
  Result<v1::TrialResponse> run(const v1::TrialRequest& request, Call& call);

  const Tables& tables_;
  std::set<std::string> types_;
  Host* host_ = nullptr;
  SharedColumns* columns_ = nullptr;
};

}  // namespace drover::scheduler
