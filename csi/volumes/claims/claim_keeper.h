// Carries claims from step to step, on the leader: asks controllers and nodes, and writes what came of it.
#pragma once

#include <chrono>
#include <memory>
#include <stop_token>
#include <string>

#include "claims/claim_groups.h"
#include "controllers.h"
#include "drover/keyring.h"
#include "drover/mutex.h"
#include "drover/plugin.h"
#include "tables.h"

namespace drover::v1 {
class CsiClaimMove;
class CsiClaimsMoved;
}  // namespace drover::v1

namespace drover {
class GaugeSet;
}

namespace drover::volumes {

class ClaimKeeper {
 public:
  explicit ClaimKeeper(const Tables& tables) : tables_(tables) {}
  void start(Host& host, Keyring& keys);

  // Works until `stop` is requested, and no call of its own is under way any more. [lead]
  void run(std::stop_token stop);

 private:
  struct Calls;  // those under way

  enum class Reason : uint8_t { claims_changed, time, changes_missed };
  Reason await_reason(ChangeSubscription& changes, int64_t due, std::chrono::nanoseconds pause,
                      const std::stop_token& stop) const;
  // Nanoseconds since 1970 when something is due; 0: nothing is, unless something changes.
  int64_t sweep(const std::shared_ptr<Calls>& calls, uint64_t term, GaugeSet& gauges, const std::stop_token& stop);
  // False when another call of that node is under way.
  bool begin(const Remote& remote, const v1::CsiClaim& claim, NextStep::Kind kind, const std::shared_ptr<Calls>& calls,
             uint64_t term, const std::stop_token& stop);
  void act(const v1::CsiClaim& claim, NextStep::Kind kind, uint64_t term, const std::stop_token& stop);
  Status attach(const v1::CsiClaim& claim, v1::CsiClaimMove& move, uint64_t term, const std::stop_token& stop) const;
  Status release(const v1::CsiClaim& claim, uint64_t term, const std::stop_token& stop) const;
  Status detach(const v1::CsiClaim& claim, uint64_t term, const std::stop_token& stop) const;
  Status open_secrets_of(const v1::CsiClaim& claim, google::protobuf::Map<std::string, std::string>& out) const;
  void write(v1::CsiClaimsMoved moved, uint64_t term) const;

  const Tables& tables_;
  Host* host_ = nullptr;
  Keyring* keys_ = nullptr;
};

}  // namespace drover::volumes
