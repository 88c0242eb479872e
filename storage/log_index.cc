#include "storage/log_index.h"

#include <algorithm>

#include "storage/segment_format.h"

namespace drover::raft {

void LogIndex::start_over(Index first_index, Term prev_term) {
  terms_.start_over(first_index, prev_term);
  cache_first_ = first_index;
  cache_.clear();
  cached_bytes_ = 0;
}

void LogIndex::append(std::span<const Entry> entries) {
  for (const Entry& entry : entries) {
    terms_.append(entry.index, entry.term);
    cache_.push_back(entry);
    cached_bytes_ += entry_bytes(entry);
  }
}

void LogIndex::truncate(Index from) {
  terms_.truncate(from);
  while (!cache_.empty() && cache_.back().index >= from) {
    cached_bytes_ -= entry_bytes(cache_.back());
    cache_.pop_back();
  }
  cache_first_ = std::min(cache_first_, last_index() + 1);
}

void LogIndex::compact(Index first_index) {
  terms_.compact(first_index);
  while (!cache_.empty() && cache_.front().index < first_index) {
    cached_bytes_ -= entry_bytes(cache_.front());
    cache_.pop_front();
  }
  cache_first_ = std::max(cache_first_, first_index);
  while (!places_.empty() && places_.front().last < first_index) places_.pop_front();
}

void LogIndex::place(Index truncate_from, std::optional<BatchPlace> place, Index durable) {
  if (truncate_from != 0) {
    while (!places_.empty() && places_.back().first >= truncate_from) places_.pop_back();
    if (!places_.empty()) places_.back().last = std::min(places_.back().last, truncate_from - 1);
  }
  if (place && place->last >= first_index()) places_.push_back(*place);
  evict(durable);
}

void LogIndex::evict(Index durable) {
  // Only what can be read back may go.
  while (cached_bytes_ > cache_limit_ && !cache_.empty() && cache_.front().index <= durable) {
    cached_bytes_ -= entry_bytes(cache_.front());
    cache_.pop_front();
    ++cache_first_;
  }
}

Index LogIndex::trail_start(Index upto, uint64_t bytes) const {
  if (upto < first_index()) return first_index();
  uint64_t sum = 0;
  for (auto place = places_.rbegin(); place != places_.rend(); ++place) {
    if (place->first > upto) continue;
    sum += place->bytes;
    if (sum >= bytes) return std::clamp(place->first, first_index(), upto + 1);
  }
  return first_index();
}

std::vector<Entry> LogIndex::cached(Index from, Index to, uint64_t max_bytes) const {
  std::vector<Entry> entries;
  uint64_t bytes = 0;
  for (Index i = from; i <= std::min(to, last_index()); ++i) {
    const Entry& entry = cache_[i - cache_first_];
    bytes += entry_bytes(entry);
    if (!entries.empty() && bytes > max_bytes) break;
    entries.push_back(entry);
  }
  return entries;
}

std::optional<BatchPlace> LogIndex::find(Index index) const {
  auto place =
      std::upper_bound(places_.begin(), places_.end(), index, [](Index i, const BatchPlace& p) { return i < p.first; });
  if (place == places_.begin() || (--place)->last < index) return std::nullopt;
  return *place;
}

}  // namespace drover::raft
