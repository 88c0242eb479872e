// The picture in memory of what the log holds: terms by run, the newest entries by reference, and where older ones lie
// on disk. Pure bookkeeping, no I/O; its owner guards it.
#pragma once

#include <cstdint>
#include <deque>
#include <optional>
#include <span>
#include <vector>

#include "drover/result.h"
#include "storage/term_runs.h"
#include "storage/types.h"

namespace drover::raft {

// The entries [first, last] of a batch that are still part of the log.
struct BatchPlace {
  Index first = 0;
  Index last = 0;
  uint64_t segment = 0;
  uint64_t offset = 0;  // of the batch header
  uint64_t bytes = 0;   // of header and body
};

class LogIndex {
 public:
  explicit LogIndex(uint64_t cache_bytes) : cache_limit_(cache_bytes) {}

  void start_over(Index first_index, Term prev_term);
  // The picture as submitted: the log's contents once everything is written.
  void append(std::span<const Entry> entries);
  void truncate(Index from);
  void compact(Index first_index);
  // The picture as written, in the same order: a batch with its truncation is on disk.
  // Entries up to `durable` may leave the memory.
  void place(Index truncate_from, std::optional<BatchPlace> place, Index durable);
  void forget_places() { places_.clear(); }

  const TermRuns& terms() const { return terms_; }
  Index first_index() const { return terms_.first_index(); }
  Index last_index() const { return terms_.last_index(); }
  Index trail_start(Index upto, uint64_t bytes) const;

  bool is_cached(Index index) const { return index >= cache_first_ && index <= last_index(); }
  // Requires: is_cached(from).
  std::vector<Entry> cached(Index from, Index to, uint64_t max_bytes) const;
  std::optional<BatchPlace> find(Index index) const;

 private:
  void evict(Index durable);

  const uint64_t cache_limit_;
  TermRuns terms_;
  std::deque<BatchPlace> places_;
  std::deque<Entry> cache_;  // [cache_first_, last_index()]
  Index cache_first_ = 1;
  uint64_t cached_bytes_ = 0;
};

}  // namespace drover::raft
