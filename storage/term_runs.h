// The terms of a log's entries, by run. Pure bookkeeping; its owner guards it.
#pragma once

#include <deque>

#include "storage/types.h"

namespace drover::raft {

// The term of each index: a log of ten thousand entries in one term is one run.
class TermRuns {
 public:
  void start_over(Index first_index, Term prev_term);
  void append(Index index, Term term);
  void truncate(Index from);
  void compact(Index first_index);

  Index first_index() const { return first_index_; }
  Term prev_term() const { return prev_term_; }
  Index last_index() const { return last_index_; }
  Term last_term() const { return runs_.empty() ? prev_term_ : runs_.back().term; }
  // Requires: first_index() - 1 <= index <= last_index().
  Term term_at(Index index) const;
  // The first index, not below first_index() - 1, from which on everything up to `index` has its term.
  // Requires: as term_at.
  Index run_start(Index index) const;

 private:
  struct Run {
    Index first = 0;
    Term term = 0;
  };
  // Requires: first_index() <= index <= last_index().
  std::deque<Run>::const_iterator run_of(Index index) const;

  Index first_index_ = 1;
  Term prev_term_ = 0;
  Index last_index_ = 0;
  std::deque<Run> runs_;
};

}  // namespace drover::raft
