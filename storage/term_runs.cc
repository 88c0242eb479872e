#include "storage/term_runs.h"

#include <algorithm>

#include "drover/result.h"

namespace drover::raft {

void TermRuns::start_over(Index first_index, Term prev_term) {
  first_index_ = first_index;
  prev_term_ = prev_term;
  last_index_ = first_index - 1;
  runs_.clear();
}

void TermRuns::append(Index index, Term term) {
  DROVER_CHECK(index == last_index_ + 1);  // I8: contiguous
  DROVER_CHECK(term >= last_term());       // I3: terms in the log never decrease
  if (runs_.empty() || term != runs_.back().term) runs_.push_back({index, term});
  last_index_ = index;
}

void TermRuns::truncate(Index from) {
  DROVER_CHECK(from >= first_index_);
  last_index_ = std::min(last_index_, from - 1);
  while (!runs_.empty() && runs_.back().first >= from) runs_.pop_back();
}

void TermRuns::compact(Index first_index) {
  if (first_index <= first_index_) return;
  DROVER_CHECK(first_index <= last_index_ + 1);
  prev_term_ = term_at(first_index - 1);
  first_index_ = first_index;
  while (runs_.size() > 1 && runs_[1].first <= first_index) runs_.pop_front();
  if (first_index > last_index_) runs_.clear();
}

std::deque<TermRuns::Run>::const_iterator TermRuns::run_of(Index index) const {
  auto run = std::upper_bound(runs_.begin(), runs_.end(), index, [](Index i, const Run& r) { return i < r.first; });
  DROVER_CHECK(run != runs_.begin());
  return std::prev(run);
}

Term TermRuns::term_at(Index index) const {
  DROVER_CHECK(index + 1 >= first_index_ && index <= last_index_);
  return index + 1 == first_index_ ? prev_term_ : run_of(index)->term;
}

Index TermRuns::run_start(Index index) const {
  DROVER_CHECK(index + 1 >= first_index_ && index <= last_index_);
  if (index + 1 == first_index_) return index;
  const Run& run = *run_of(index);
  if (run.first > first_index_) return run.first;
  return run.term == prev_term_ ? first_index_ - 1 : first_index_;
}

}  // namespace drover::raft
