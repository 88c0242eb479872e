#include "kernel/raft/core/log_view.h"

#include "gtest/gtest.h"
#include "kernel/raft/core/test_support.h"

namespace drover::raft {
namespace {

TermRuns empty_log() { return {}; }

void append(LogView& log, Index from, Index to, Term term, size_t bytes = 1) {
  for (Index i = from; i <= to; ++i) {
    log.append({.index = i, .term = term, .type = EntryType::command, .payload = text(std::string(bytes, 'x'))});
  }
  log.check();
}

TEST(LogView, IsDurableUpToTheFirstUnconfirmedEntry) {
  LogView log(empty_log(), 0, 1000);
  append(log, 1, 2, 1);
  EXPECT_EQ(log.take_write(false)->write_seq, 1u);
  append(log, 3, 3, 1);
  EXPECT_EQ(log.take_write(false)->write_seq, 2u);
  EXPECT_EQ(log.durable_index(), 0u);

  log.confirm(1);
  EXPECT_EQ(log.durable_index(), 2u);
  log.confirm(7);  // never handed out
  EXPECT_EQ(log.durable_index(), 2u);
  log.confirm(2);
  EXPECT_EQ(log.durable_index(), 3u);
  EXPECT_FALSE(log.take_write(false).has_value());
}

TEST(LogView, AnEarlierWriteOfTheSameEntryConfirmsNothing) {
  LogView log(empty_log(), 0, 1000);
  append(log, 1, 3, 1);
  log.take_write(false);
  log.truncate(2);
  append(log, 2, 2, 2);
  log.take_write(false);
  log.truncate(2);
  append(log, 2, 3, 3);
  const LogWrite third = *log.take_write(false);
  EXPECT_EQ(third.truncate_from, 2u);
  EXPECT_EQ(third.entries.size(), 2u);

  log.confirm(1);
  EXPECT_EQ(log.durable_index(), 1u);
  log.confirm(2);
  EXPECT_EQ(log.durable_index(), 1u);
  log.confirm(3);
  EXPECT_EQ(log.durable_index(), 3u);
}

TEST(LogView, WhatWasNotHandedOutIsCutWithoutAWord) {
  LogView log(empty_log(), 4, 1000);
  append(log, 1, 2, 1);
  log.take_write(false);
  append(log, 3, 5, 1);

  log.truncate(4);

  const LogWrite write = *log.take_write(false);
  EXPECT_EQ(write.write_seq, 6u);
  EXPECT_EQ(write.truncate_from, 0u);
  ASSERT_EQ(write.entries.size(), 1u);
  EXPECT_EQ(write.entries[0].index, 3u);
}

TEST(LogView, CutsOnceAtTheLowestPlace) {
  LogView log(empty_log(), 0, 1000);
  append(log, 1, 5, 1);
  log.take_write(false);
  log.truncate(4);
  append(log, 4, 4, 2);
  log.truncate(3);
  append(log, 3, 3, 3);

  const LogWrite write = *log.take_write(false);

  EXPECT_EQ(write.truncate_from, 3u);
  EXPECT_EQ(describe(write.entries), " 3/3:x");
}

TEST(LogView, StartsOverBehindASnapshot) {
  LogView log(empty_log(), 0, 1000);
  append(log, 1, 5, 1);
  log.take_write(false);
  append(log, 6, 6, 1);

  log.start_over(9, 4);
  append(log, 10, 10, 5);

  EXPECT_TRUE(log.holds(9, 4));
  EXPECT_FALSE(log.holds(9, 3));
  EXPECT_FALSE(log.holds(8, 1));
  EXPECT_EQ(log.durable_index(), 9u);
  const LogWrite write = *log.take_write(false);
  EXPECT_TRUE(write.start_over);
  EXPECT_EQ(write.first_index, 10u);
  EXPECT_EQ(write.prev_term, 4u);
  EXPECT_EQ(write.truncate_from, 0u);
  EXPECT_EQ(describe(write.entries), " 10/5:x");
}

TEST(LogView, ForgetsWhatIsCompacted) {
  LogView log(empty_log(), 0, 1000);
  append(log, 1, 3, 1);
  append(log, 4, 6, 2);
  log.take_write(false);
  log.confirm(1);

  log.compact(5);
  log.check();

  EXPECT_EQ(log.first_index(), 5u);
  EXPECT_EQ(log.term_at(4), 2u);
  EXPECT_FALSE(log.is_recent(4));
  EXPECT_TRUE(log.is_recent(5));
  EXPECT_EQ(log.take_write(false)->first_index, 5u);
  log.compact(3);  // further back than it is
  EXPECT_FALSE(log.take_write(false).has_value());
}

TEST(LogView, KeepsRecentEntriesByTheirBytesButNeverLosesUnwrittenOnes) {
  LogView log(empty_log(), 0, 3 * (48 + 100));
  append(log, 1, 10, 1, 100);
  EXPECT_TRUE(log.is_recent(1));
  EXPECT_EQ(log.take_write(false)->entries.size(), 10u);

  EXPECT_FALSE(log.is_recent(7));
  EXPECT_TRUE(log.is_recent(8));
  EXPECT_FALSE(log.is_recent(11));
  log.check();
}

TEST(LogView, CopiesAtLeastOneAndNoMoreThanTheLimit) {
  LogView log(empty_log(), 0, 10000);
  append(log, 1, 4, 1, 52);
  append(log, 5, 5, 1, 1000);
  struct Case {
    Index from;
    uint64_t limit;
    size_t count;
  };
  for (const Case& c : {Case{1, 250, 2}, Case{1, 200, 2}, Case{1, 199, 1}, Case{1, 0, 1}, Case{4, 1000, 1},
                        Case{5, 10, 1}, Case{1, 100000, 5}}) {
    std::vector<Entry> out;
    const uint64_t bytes = log.copy_recent(c.from, c.limit, out);
    EXPECT_EQ(out.size(), c.count) << c.from << " " << c.limit;
    EXPECT_GT(bytes, 0u);
  }
}

TEST(LogView, FindsTermsByRun) {
  LogView log(empty_log(), 0, 10000);
  append(log, 1, 3, 1);
  append(log, 4, 6, 3);
  append(log, 7, 7, 5);

  EXPECT_EQ(log.run_start(6), 4u);
  EXPECT_EQ(log.run_start(7), 7u);
  EXPECT_EQ(log.run_start(2), 1u);
  EXPECT_EQ(log.last_at_most(4, 7), 6u);
  EXPECT_EQ(log.last_at_most(3, 5), 5u);
  EXPECT_EQ(log.last_at_most(2, 99), 3u);
  EXPECT_EQ(log.last_at_most(0, 7), 0u);
  log.take_write(false);
  log.confirm(1);
  log.compact(6);
  EXPECT_EQ(log.run_start(6), 5u);  // the one before has the same term
  EXPECT_EQ(log.last_at_most(1, 7), 5u);
}

}  // namespace
}  // namespace drover::raft
