// Hands every commit, once and in order, to its subscribers.
//
// The writer appends each commit to a ring of immutable batches and never waits. Each subscriber has its own place in
// the ring; one that has fallen off it is told to resync: take a snapshot, then go on with the batches that are newer
// than it. The writer wakes those only who wait for a table that the commit changes. Batches keep the bytes of the rows they name alive, so the ring is bounded by bytes as well as by count.
//
//   auto feed = store.subscribe(snapshot->index(), {jobs, allocs});
//   for (;;) switch (FeedEvent event = feed->next(deadline, stop); event.kind) …
#pragma once

#include <deque>
#include <memory>
#include <stop_token>
#include <string>
#include <vector>

#include "drover/clock.h"
#include "drover/mutex.h"
#include "drover/tables.h"
#include "kernel/state/memory.h"

namespace drover::state {

// One published commit. Immutable. [any]
class Batch final : public ChangeBatch {
 public:
  Batch(std::shared_ptr<Memory> memory, uint64_t index, std::string command)
      : index_(index), command_(std::move(command)), memory_(std::move(memory)) {}
  // `before` and `after` are items of one row; null when there was none.
  void add(const Item* before, const Item* after);
  void reserve(size_t changes) {
    changes_.reserve(changes);
    rows_.reserve(2 * changes);
  }

  // None named: true.
  bool changes_one_of(const std::vector<TableId>& tables) const;

  uint64_t index() const override { return index_; }
  std::string_view command() const override { return command_; }
  const std::vector<Change>& changes() const override { return changes_; }
  size_t bytes() const { return bytes_; }

 private:
  uint64_t index_;
  std::string command_;
  size_t bytes_ = sizeof(Batch);
  std::shared_ptr<Memory> memory_;
  std::vector<RowRef> rows_;
  std::vector<Change> changes_;
  std::vector<TableId> tables_;  // of the changes, each once
};

struct FeedEvent {
  enum class Kind : uint8_t {
    batch,      // the next commit
    resync,     // commits were lost: take a snapshot (its index is at least `index`), skip batches it contains
    closed,     // the feed has ended, or the stop token asked to
    timed_out,  // nothing happened until the deadline
  };
  Kind kind;
  std::shared_ptr<const ChangeBatch> batch;
  uint64_t index = 0;
};

class Subscription;

// [any]
class ChangeFeed {
 public:
  ChangeFeed(size_t max_batches, size_t max_bytes) : max_batches_(max_batches), max_bytes_(max_bytes) {}

  void publish(std::shared_ptr<const Batch> batch);
  // All subscribers must resync; the feed goes on after `index`.
  void reset(uint64_t index);
  void close();

 private:
  friend class Subscription;
  // The sequence number after the last.
  uint64_t end() const DROVER_REQUIRES(mutex_) { return first_ + ring_.size(); }

  const size_t max_batches_;
  const size_t max_bytes_;

  Mutex mutex_;
  std::deque<std::shared_ptr<const Batch>> ring_ DROVER_GUARDED_BY(mutex_);
  uint64_t first_ DROVER_GUARDED_BY(mutex_) = 1;       // sequence number of ring_.front()
  uint64_t lost_index_ DROVER_GUARDED_BY(mutex_) = 0;  // the index of the last commit that the ring no longer holds
  uint64_t last_index_ DROVER_GUARDED_BY(mutex_) = 0;  // of the last commit
  size_t bytes_ DROVER_GUARDED_BY(mutex_) = 0;
  std::vector<Subscription*> waiting_ DROVER_GUARDED_BY(mutex_);  // each at the end of the ring, or woken
  bool closed_ DROVER_GUARDED_BY(mutex_) = false;
};

// One subscriber's place in the feed. Owned by one thread at a time; may outlive the store.
class Subscription {
 public:
  // Begins with the first commit after `after_index`, or with a resync when that is no longer in the ring.
  Subscription(std::shared_ptr<ChangeFeed> feed, uint64_t after_index, std::vector<TableId> tables);

  // Waits for the next event until the deadline or the stop token.
  FeedEvent next(SteadyTime deadline, const std::stop_token& stop = {});

 private:
  friend class ChangeFeed;
  std::shared_ptr<ChangeFeed> feed_;
  std::vector<TableId> tables_;
  uint64_t next_;  // its place; as the following, under the mutex of the feed
  uint64_t after_index_;
  std::unique_ptr<CondVarAny> woken_;
};

}  // namespace drover::state
