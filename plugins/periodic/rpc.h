// The handler that launches a periodic job because somebody asks.
#pragma once

#include "drover/plugin.h"
#include "leader.h"

namespace drover::v1 {
class ForcePeriodicRequest;
class ForcePeriodicResponse;
}  // namespace drover::v1

namespace drover::periodic {

class Rpc {
 public:
  explicit Rpc(const LeaderTables& tables) : tables_(tables) {}
  Status declare(Declarations& declare);
  void start(Host& host) { host_ = &host; }

 private:
  Result<Write<v1::ForcePeriodicResponse>> force(const v1::ForcePeriodicRequest& request, Call& call);

  const LeaderTables& tables_;
  Host* host_ = nullptr;
};

}  // namespace drover::periodic
