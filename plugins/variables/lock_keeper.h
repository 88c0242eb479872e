// When the locks of variables die. Their renewals are known to the leader alone: a new one gives every holder its whole
// time again. [any]
#pragma once

#include <chrono>
#include <map>
#include <string>
#include <vector>

#include "drover/clock.h"
#include "drover/mutex.h"

namespace drover::v1 {
class SealedVariable;
class VariableLockFreed;
}  // namespace drover::v1

namespace drover::variables {

class LockKeeper {
 public:
  // Forgets everything: this server has just become leader.
  void clear();
  void renewed(const v1::SealedVariable& variable, SteadyTime now);
  // Those of the locked rows that are free again: without a renewal for twice the TTL, and for the delay after that. A
  // row that is new here has been renewed now.
  std::vector<v1::VariableLockFreed> dead(const std::vector<v1::SealedVariable>& locked, SteadyTime now);

 private:
  struct Renewal {
    std::string lock_id;
    SteadyTime at;
  };
  Mutex mutex_;
  std::map<std::string, Renewal> renewals_ DROVER_GUARDED_BY(mutex_);  // by the row's key
};

}  // namespace drover::variables
