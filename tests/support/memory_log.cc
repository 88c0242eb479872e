#include "tests/support/memory_log.h"

#include <algorithm>
#include <utility>

#include "storage/segment_format.h"

namespace drover::raft {

void MemoryLog::submit(LogWrite write) {
  bool is_held = false;
  {
    const std::lock_guard lock(mutex_);
    const Index from = write.start_over ? write.first_index : write.truncate_from;
    if (write.start_over) {
      index_.start_over(write.first_index, write.prev_term);
    } else if (from != 0) {
      index_.truncate(from);
    }
    if (from != 0) {
      durable_ = std::min(durable_, from - 1);
      for (Unconfirmed& former : unconfirmed_) former.last = std::min(former.last, from - 1);
    }
    index_.append(write.entries);
    if (!write.start_over) index_.compact(write.first_index);
    unconfirmed_.push_back({write.write_seq, index_.last_index()});
    is_held = is_held_;
  }
  if (!is_held) release();
}

void MemoryLog::hold() {
  const std::lock_guard lock(mutex_);
  is_held_ = true;
}

void MemoryLog::release() {
  uint64_t newest = 0;
  {
    const std::lock_guard lock(mutex_);
    is_held_ = false;
    for (const Unconfirmed& write : unconfirmed_) {
      durable_ = std::max(durable_, write.last);
      newest = write.write_seq;
    }
    unconfirmed_.clear();
  }
  if (newest != 0 && on_durable_) on_durable_(newest);
}

Result<std::vector<Entry>> MemoryLog::read(Index from, Index to, uint64_t max_bytes) const {
  const std::lock_guard lock(mutex_);
  if (to < from || !index_.is_cached(from)) {
    return Status(Code::out_of_range, "entry " + std::to_string(from) + " is not in the log");
  }
  return index_.cached(from, to, max_bytes);
}

Result<Term> MemoryLog::term_at(Index index) const {
  const std::lock_guard lock(mutex_);
  if (index + 1 < index_.first_index() || index > index_.last_index()) {
    return Status(Code::out_of_range, "the term of entry " + std::to_string(index) + " is not in the log");
  }
  return index_.terms().term_at(index);
}

Index MemoryLog::first_index() const {
  const std::lock_guard lock(mutex_);
  return index_.first_index();
}

Index MemoryLog::last_index() const {
  const std::lock_guard lock(mutex_);
  return index_.last_index();
}

Index MemoryLog::durable_index() const {
  const std::lock_guard lock(mutex_);
  return durable_;
}

Index MemoryLog::trail_start(Index upto, uint64_t bytes) const {
  const std::lock_guard lock(mutex_);
  uint64_t sum = 0;
  for (Index i = upto; i >= index_.first_index() && index_.is_cached(i); --i) {
    sum += entry_bytes(index_.cached(i, i, 0).front());
    if (sum >= bytes) return i;
  }
  return index_.first_index();
}

}  // namespace drover::raft
