// The core's view of its log: the terms by run, the newest entries by reference, how far it is durable, and the next
// write. A value of the core; no I/O.
//
//        first ……………………… recent ……………… submitted ……………… last
//        │ read with LogRead │ in memory, written │ in memory, in the next write │
//
// Writes are numbered. Each index remembers the write that put it there last, so the completion of an earlier write of
// the same (index, term) does not make it durable (S20).
#pragma once

#include <deque>
#include <optional>
#include <vector>

#include "kernel/raft/log.h"
#include "storage/term_runs.h"
#include "storage/types.h"

namespace drover::raft {

// Bytes that an entry counts in messages and in memory.
inline uint64_t entry_cost(const Entry& entry) { return 48 + entry.bytes().size(); }

class LogView {
 public:
  // Everything in `terms` is durable, by writes up to write_seq.
  LogView(TermRuns terms, uint64_t write_seq, uint64_t recent_bytes);

  Index first_index() const { return terms_.first_index(); }
  Index last_index() const { return terms_.last_index(); }
  Term last_term() const { return terms_.last_term(); }
  // Requires: first_index() - 1 <= index <= last_index().
  Term term_at(Index index) const { return terms_.term_at(index); }
  bool holds(Index index, Term term) const;
  // The first index of the run of one term that ends at `index`.
  Index run_start(Index index) const { return terms_.run_start(index); }
  // The last index up to `upto` whose term is at most `term`; first_index() - 1 when there is none.
  Index last_at_most(Term term, Index upto) const;

  Index durable_index() const { return unconfirmed_.empty() ? last_index() : unconfirmed_.front().first - 1; }
  bool is_durable(uint64_t write_seq) const { return confirmed_ >= write_seq; }
  uint64_t write_seq() const { return write_seq_; }       // of the newest write handed out
  uint64_t next_write() const { return write_seq_ + 1; }  // what is changed now becomes durable with it

  // Requires: continues the log.
  void append(Entry entry);
  void truncate(Index from);
  // Drops everything and continues behind (index, term), which a snapshot holds.
  void start_over(Index index, Term term);
  void compact(Index first_index);
  // All writes up to this one are durable. Requires: it was handed out.
  void confirm(uint64_t write_seq);

  // Returns the changes since the last call as one write; nothing when there are none and `always` is false.
  std::optional<LogWrite> take_write(bool always);

  bool is_recent(Index index) const { return index >= recent_first() && index <= last_index(); }
  // Entries from `from` while they fit into max_bytes, at least one; returns their bytes. Requires: is_recent(from).
  uint64_t copy_recent(Index from, uint64_t max_bytes, std::vector<Entry>& out) const;

  void check() const;

 private:
  struct Unconfirmed {
    Index first = 0;  // and what follows, up to the next one's
    uint64_t write_seq = 0;
  };
  Index recent_first() const { return last_index() + 1 - recent_.size(); }
  void drop_recent_from(Index from);

  TermRuns terms_;
  const uint64_t recent_limit_;
  std::deque<Entry> recent_;  // the last ones of the log
  uint64_t recent_bytes_ = 0;
  std::deque<Unconfirmed> unconfirmed_;
  uint64_t write_seq_;
  uint64_t confirmed_;
  // The contents of the next write:
  Index submitted_;  // entries above are in it
  Index truncate_from_ = 0;
  Index new_first_ = 0;
  bool is_start_over_ = false;
};

}  // namespace drover::raft
