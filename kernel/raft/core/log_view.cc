#include "kernel/raft/core/log_view.h"

#include <algorithm>

#include "drover/result.h"
#include "kernel/raft/core/reach.h"

namespace drover::raft {

LogView::LogView(TermRuns terms, uint64_t write_seq, uint64_t recent_bytes)
    : terms_(std::move(terms)),
      recent_limit_(recent_bytes),
      write_seq_(write_seq),
      confirmed_(write_seq),
      submitted_(terms_.last_index()) {}

bool LogView::holds(Index index, Term term) const {
  return index + 1 >= first_index() && index <= last_index() && term_at(index) == term;
}

Index LogView::last_at_most(Term term, Index upto) const {
  Index index = std::min(upto, last_index());
  while (index >= first_index() && term_at(index) > term) index = run_start(index) - 1;
  return std::max(index, first_index() - 1);
}

void LogView::append(Entry entry) {
  const Index index = entry.index;
  terms_.append(index, entry.term);  // I3, I8
  recent_bytes_ += entry_cost(entry);
  recent_.push_back(std::move(entry));
  const uint64_t seq = next_write();
  if (unconfirmed_.empty() || unconfirmed_.back().write_seq != seq) unconfirmed_.push_back({index, seq});
}

void LogView::drop_recent_from(Index from) {
  while (!recent_.empty() && recent_.back().index >= from) {
    recent_bytes_ -= entry_cost(recent_.back());
    recent_.pop_back();
  }
}

void LogView::truncate(Index from) {
  if (from > last_index()) return;
  if (!unconfirmed_.empty() && unconfirmed_.front().first <= submitted_) DROVER_REACH("truncate while a write is out");
  drop_recent_from(from);
  terms_.truncate(from);
  while (!unconfirmed_.empty() && unconfirmed_.back().first >= from) unconfirmed_.pop_back();
  if (from > submitted_) return;
  truncate_from_ = truncate_from_ == 0 ? from : std::min(truncate_from_, from);
  submitted_ = from - 1;
}

void LogView::start_over(Index index, Term term) {
  recent_.clear();
  recent_bytes_ = 0;
  unconfirmed_.clear();
  terms_.start_over(index + 1, term);
  submitted_ = index;
  truncate_from_ = 0;
  new_first_ = index + 1;
  is_start_over_ = true;
}

void LogView::compact(Index first_index) {
  if (first_index <= terms_.first_index()) return;
  terms_.compact(first_index);
  while (!recent_.empty() && recent_.front().index < first_index) {
    recent_bytes_ -= entry_cost(recent_.front());
    recent_.pop_front();
  }
  new_first_ = first_index;
}

void LogView::confirm(uint64_t write_seq) {
  if (write_seq > write_seq_) return;  // never handed out
  confirmed_ = std::max(confirmed_, write_seq);
  while (!unconfirmed_.empty() && unconfirmed_.front().write_seq <= confirmed_) unconfirmed_.pop_front();
}

std::optional<LogWrite> LogView::take_write(bool always) {
  const bool has_entries = last_index() > submitted_;
  if (!always && !has_entries && truncate_from_ == 0 && new_first_ == 0) return std::nullopt;
  LogWrite write{.write_seq = ++write_seq_,
                 .truncate_from = std::exchange(truncate_from_, 0),
                 .first_index = std::exchange(new_first_, 0),
                 .start_over = std::exchange(is_start_over_, false)};
  if (write.start_over) write.prev_term = terms_.prev_term();
  if (has_entries) {
    write.entries.reserve(last_index() - submitted_);
    copy_recent(submitted_ + 1, UINT64_MAX, write.entries);
  }
  submitted_ = last_index();
  while (recent_bytes_ > recent_limit_ && !recent_.empty()) {
    recent_bytes_ -= entry_cost(recent_.front());
    recent_.pop_front();
  }
  return write;
}

uint64_t LogView::copy_recent(Index from, uint64_t max_bytes, std::vector<Entry>& out) const {
  DROVER_CHECK(is_recent(from));
  uint64_t bytes = 0;
  for (size_t at = from - recent_first(); at < recent_.size(); ++at) {
    const uint64_t cost = entry_cost(recent_[at]);
    if (bytes != 0 && bytes + cost > max_bytes) break;  // a larger entry travels alone (S19)
    bytes += cost;
    out.push_back(recent_[at]);
  }
  return bytes;
}

void LogView::check() const {
  Index index = recent_first();
  uint64_t bytes = 0;
  for (const Entry& entry : recent_) {
    DROVER_CHECK(entry.index == index++ && entry.term == term_at(entry.index));
    bytes += entry_cost(entry);
  }
  DROVER_CHECK(bytes == recent_bytes_);
  DROVER_CHECK(submitted_ + 1 >= first_index() && submitted_ <= last_index());
  DROVER_CHECK(submitted_ == last_index() || is_recent(submitted_ + 1));
  DROVER_CHECK(durable_index() <= submitted_ && confirmed_ <= write_seq_);
  for (size_t i = 1; i < unconfirmed_.size(); ++i) {
    DROVER_CHECK(unconfirmed_[i - 1].first < unconfirmed_[i].first);
    DROVER_CHECK(unconfirmed_[i - 1].write_seq < unconfirmed_[i].write_seq);
  }
}

}  // namespace drover::raft
