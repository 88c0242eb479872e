#include "lock_keeper.h"

#include "tables.h"
#include "variables.pb.h"

namespace drover::variables {

void LockKeeper::clear() {
  const MutexLock lock(mutex_);
  renewals_.clear();
}

void LockKeeper::renewed(const v1::SealedVariable& variable, SteadyTime now) {
  const MutexLock lock(mutex_);
  renewals_[variable_key(variable)] = {.lock_id = variable.metadata().lock().id(), .at = now};
}

std::vector<v1::VariableLockFreed> LockKeeper::dead(const std::vector<v1::SealedVariable>& locked, SteadyTime now) {
  std::vector<v1::VariableLockFreed> dead;
  std::map<std::string, Renewal> known;
  const MutexLock lock(mutex_);
  for (const v1::SealedVariable& row : locked) {
    const std::string key = variable_key(row);
    const auto before = renewals_.find(key);
    const bool is_same = before != renewals_.end() && before->second.lock_id == row.metadata().lock().id();
    const Renewal renewal = is_same ? before->second : Renewal{.lock_id = row.metadata().lock().id(), .at = now};
    const auto lives = std::chrono::nanoseconds(2 * row.metadata().lock().ttl() + row.metadata().lock().lock_delay());
    if (now - renewal.at >= lives) {
      v1::VariableLockFreed& freed = dead.emplace_back();
      freed.set_namespace_(row.metadata().namespace_());
      freed.set_path(row.metadata().path());
      freed.set_lock_id(row.metadata().lock().id());
    }
    known.emplace(key, renewal);
  }
  renewals_ = std::move(known);
  return dead;
}

}  // namespace drover::variables
