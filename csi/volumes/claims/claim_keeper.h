// Carries claims from step to step, on the leader: asks controllers and nodes, and writes what came of it.
#pragma once

#include <map>
#include <memory>
#include <set>
#include <stop_token>
#include <string>
#include <utility>
#include <vector>

#include "claims/next_step.h"
#include "controllers.h"
#include "drover/keyring.h"
#include "drover/mutex.h"
#include "drover/plugin.h"
#include "tables.h"

namespace drover::v1 {
class CsiClaimMove;
class CsiClaimsMoved;
}

namespace drover::volumes {

class ClaimKeeper {
 public:
  explicit ClaimKeeper(const Tables& tables) : tables_(tables) {}
  void start(Host& host, Keyring& keys);

  // Works until `stop` is requested, and no call of its own is under way any more. [lead]
  void run(std::stop_token stop);

 private:
  using Remote = std::pair<std::string, std::string>;  // plugin, the storage's name of the volume
  struct Group {
    std::vector<ClaimFacts> facts;
    std::vector<int64_t> ended_at;
  };
  struct Calls;  // those under way

  std::map<Remote, Group> look(const ReadView& view) const;
  void sweep(const std::shared_ptr<Calls>& calls, uint64_t term, const std::stop_token& stop);
  void begin(const Remote& remote, const v1::CsiClaim& claim, NextStep::Kind kind, const std::shared_ptr<Calls>& calls,
             uint64_t term, const std::stop_token& stop);
  void act(const v1::CsiClaim& claim, NextStep::Kind kind, uint64_t term, const std::stop_token& stop);
  Status attach(const v1::CsiClaim& claim, v1::CsiClaimMove& move, const std::stop_token& stop) const;
  Status release(const v1::CsiClaim& claim, const std::stop_token& stop) const;
  Status detach(const v1::CsiClaim& claim, const std::stop_token& stop) const;
  Status open_secrets_of(const v1::CsiClaim& claim, google::protobuf::Map<std::string, std::string>& out) const;
  void write(v1::CsiClaimsMoved moved, uint64_t term) const;

  const Tables& tables_;
  Host* host_ = nullptr;
  Keyring* keys_ = nullptr;
};

// Whether a failed attempt at attaching ends the claim, since it would fail again. Pure.
bool is_final(Code code);
// Whether that answer of undoing says that there is nothing to undo (any more). Pure.
bool is_undone(const Status& status);

}  // namespace drover::volumes
