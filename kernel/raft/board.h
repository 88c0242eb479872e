// The state that the loops of one server show to each other and to everybody else. [any]
#pragma once

#include <atomic>
#include <optional>
#include <set>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "drover/clock.h"
#include "drover/mutex.h"
#include "kernel/raft/raft.h"

namespace drover::raft {

inline Status uncertain(std::string_view why) {
  return deadline_exceeded(std::string(why) + " while the command was in the log: it may or may not be applied");
}

struct Board {
  std::atomic<Role> role{Role::follower};
  std::atomic<Term> term{0};
  std::atomic<Index> commit{0};
  std::atomic<Index> applied{0};
  std::atomic<uint64_t> pending_bytes{0};    // proposals accepted here and not yet committed
  std::atomic<uint64_t> unapplied_bytes{0};  // committed and not yet applied
  std::atomic<bool> is_giving_up{false};     // this server stops: no new snapshots
  std::atomic<bool> is_damaged{false};       // its log has lost what it had confirmed, and is not whole again

  mutable Mutex mutex;  // a leaf
  Membership membership DROVER_GUARDED_BY(mutex);
  Member leader DROVER_GUARDED_BY(mutex);                // nobody known: a zero identifier
  SteadyTime leader_contact DROVER_GUARDED_BY(mutex){};  // when the leader was heard last
  std::vector<PeerInfo> peers DROVER_GUARDED_BY(mutex);
  SnapshotInfo newest DROVER_GUARDED_BY(mutex);
  Stats stats DROVER_GUARDED_BY(mutex);

  template <typename Change>
  void update_stats(Change change) {
    const MutexLock lock(mutex);
    change(stats);
  }
};

// Callbacks of proposals, from the step that gives them to the core until they are applied or lost. A deadline takes
// the callback and leaves the place, so that the bytes stay counted.
class Waiters {
 public:
  struct Waiter {
    Consensus::ProposeDone done;  // null: the deadline has passed
    uint64_t bytes = 0;
    SteadyTime begun;
    SteadyTime deadline;
  };

  void add(uint64_t token, Waiter waiter) {
    const MutexLock lock(mutex_);
    if (waiter.deadline != SteadyTime::max()) deadlines_.emplace(waiter.deadline, token);
    DROVER_CHECK(by_token_.emplace(token, std::move(waiter)).second);
  }
  std::optional<Waiter> take(uint64_t token) {
    const MutexLock lock(mutex_);
    auto node = by_token_.extract(token);
    if (node.empty()) return std::nullopt;
    deadlines_.erase({node.mapped().deadline, token});
    return std::move(node.mapped());
  }
  std::vector<Consensus::ProposeDone> take_expired(SteadyTime now) {
    std::vector<Consensus::ProposeDone> taken;
    const MutexLock lock(mutex_);
    while (!deadlines_.empty() && deadlines_.begin()->first <= now) {
      taken.push_back(std::exchange(by_token_.at(deadlines_.begin()->second).done, nullptr));
      deadlines_.erase(deadlines_.begin());
    }
    return taken;
  }
  uint64_t bytes_of(uint64_t token) const {
    const MutexLock lock(mutex_);
    const auto found = by_token_.find(token);
    return found == by_token_.end() ? 0 : found->second.bytes;
  }
  SteadyTime next_deadline() const {
    const MutexLock lock(mutex_);
    return deadlines_.empty() ? SteadyTime::max() : deadlines_.begin()->first;
  }
  std::vector<Consensus::ProposeDone> take_all() {
    std::vector<Consensus::ProposeDone> taken;
    const MutexLock lock(mutex_);
    for (auto& [token, waiter] : by_token_) {
      if (waiter.done) taken.push_back(std::move(waiter.done));
    }
    by_token_.clear();
    deadlines_.clear();
    return taken;
  }

 private:
  mutable Mutex mutex_;  // a leaf
  std::unordered_map<uint64_t, Waiter> by_token_ DROVER_GUARDED_BY(mutex_);
  std::set<std::pair<SteadyTime, uint64_t>> deadlines_ DROVER_GUARDED_BY(mutex_);
};

}  // namespace drover::raft
