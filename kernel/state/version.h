// Keeps the published versions that somebody can still see, and frees what nobody can.
//
// A node or item lives from the version that made it (birth) to the version that replaced it (death). It may be freed
// when no open version v has birth ≤ v < death. Deadlists make that exact without ever scanning live data:
//
//   dies at d     the youngest open v < d: if birth ≤ v, onto v's deadlist; else free
//   v closes      each item of its deadlist moves to the next older open version if birth ≤ that one; else free
//
// The list holds the current version, always last, and every older one with readers. Freeing is done in steps of
// bounded size: when a reader closes, after each commit, and by threads that have time (reclaim).
//
// Threads: open, close and reclaim [any]; publish [apply].
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <vector>

#include "drover/mutex.h"
#include "kernel/state/memory.h"
#include "kernel/state/tree.h"

namespace drover::state {

// For a few dozen instructions at a time; yields when the holder was descheduled.
class DROVER_THREAD_ATTRIBUTE(capability("mutex")) SpinLock {
 public:
  void lock() DROVER_THREAD_ATTRIBUTE(acquire_capability());
  void unlock() DROVER_THREAD_ATTRIBUTE(release_capability()) { held_.store(false, std::memory_order_release); }

 private:
  std::atomic<bool> held_{false};
};

class DROVER_THREAD_ATTRIBUTE(scoped_lockable) SpinLockGuard {
 public:
  explicit SpinLockGuard(SpinLock& lock) DROVER_THREAD_ATTRIBUTE(acquire_capability(lock)) : lock_(lock) {
    lock.lock();
  }
  ~SpinLockGuard() DROVER_THREAD_ATTRIBUTE(release_capability()) { lock_.unlock(); }

 private:
  SpinLock& lock_;
};

// Chunked, so that appending never copies a long list.
class DeadList {
 public:
  static constexpr size_t kChunk = 4096;
  void push(Dead dead) {
    if (chunks_.empty() || chunks_.back().size() == kChunk) chunks_.emplace_back();
    chunks_.back().push_back(dead);
  }
  bool empty() const { return chunks_.empty(); }
  // Requires: not empty.
  std::vector<Dead> take_chunk() {
    std::vector<Dead> chunk = std::move(chunks_.back());
    chunks_.pop_back();
    return chunk;
  }

 private:
  std::vector<std::vector<Dead>> chunks_;
};

// All tables at one moment. Immutable while published, apart from the bookkeeping, which is the list's and under its
// lock.
struct Version {
  uint64_t number = 0;                  // 1, 2, 3 …: the order of publication in this process
  uint64_t index = 0;                   // the log index it reflects
  std::vector<Node*> roots;             // of every index of every table
  std::vector<uint64_t> table_indexes;  // the last log index that changed each table

  Version* older = nullptr;
  Version* newer = nullptr;
  uint32_t readers = 0;
  DeadList deadlist;
};

// Somebody who holds a version open. Linked into the register of holders while open.
struct Holder {
  const Version* version = nullptr;
  const char* name = "";  // a literal
  Holder* next = nullptr;
  Holder** link = nullptr;
};

class VersionList {
 public:
  explicit VersionList(Memory& memory);
  ~VersionList();
  VersionList(const VersionList&) = delete;
  VersionList& operator=(const VersionList&) = delete;

  // Holds the current version open. O(1).
  void open(Holder& holder);
  void close(Holder& holder);
  // Calls visit(holder) for each, under the lock: visit does little and calls nothing.
  template <typename Visit>
  void for_each_holder(Visit&& visit) {
    const SpinLockGuard guard(lock_);
    for (Holder* h = holders_; h != nullptr; h = h->next) visit(*h);
  }

  // [apply] The newest version. Stays valid until the next publish.
  Version& current() { return *current_; }
  // [apply] A copy of the current version to build the next one on.
  std::unique_ptr<Version> next();
  // [apply] Makes `next` the current version and disposes of what it replaced.
  void publish(std::unique_ptr<Version> next, std::vector<Dead>& dead);
  // [apply] Takes back a version that was never published, for reuse.
  void discard(std::unique_ptr<Version> next) { spare_ = std::move(next); }

  // Frees a few thousand dead things. False when there was nothing to do.
  bool reclaim();

 private:
  struct Pending {
    uint64_t version;  // the closed version whose deadlist this is
    DeadList list;
  };
  // The heir of a thing that was on the deadlist of `version` or died at it: the youngest older version with readers.
  Version* heir(uint64_t version) const DROVER_REQUIRES(lock_);
  void unlink(Version* version) DROVER_REQUIRES(lock_);
  // Leaves in `dead` what may be freed now; the rest goes to the heir.
  void hand_over(Version* heir, std::vector<Dead>& dead) DROVER_REQUIRES(lock_);
  // Frees all of it; what hung below subtrees becomes pending for `version`.
  void free_all(const std::vector<Dead>& dead, uint64_t version);

  Memory& memory_;
  std::unique_ptr<Version> spare_;  // [apply]

  SpinLock lock_;
  Version* current_;  // [apply] writes it under the lock, and reads it without
  Holder* holders_ DROVER_GUARDED_BY(lock_) = nullptr;
  std::vector<Pending> pending_ DROVER_GUARDED_BY(lock_);
  std::atomic<bool> has_pending_{false};
};

}  // namespace drover::state
