#include "kernel/state/store.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <thread>

#include "tests/support/state_rows.h"

namespace drover::state {
namespace {

using namespace std::chrono_literals;

class StoreTest : public testing::Test {
 protected:
  SteadyTime soon() { return std::chrono::steady_clock::now() + 20s; }
  int64_t bytes() {
    while (store.reclaim()) {
    }
    return store.tables()[0].bytes;
  }
  Store store{no_feed()};
  TableId things = must_add(store, thing_table());
};

TEST_F(StoreTest, RefusesTwoTablesOfOneName) {
  EXPECT_EQ(store.add_table(thing_table()).status().code(), Code::already_exists);
}

TEST_F(StoreTest, RefusesTablesAfterTheFirstUse) {
  put_rows(store, things, {"a||g||"});
  EXPECT_EQ(store.add_table(thing_table("late")).status().code(), Code::failed_precondition);
}

TEST_F(StoreTest, FindsTablesByName) {
  EXPECT_EQ(store.find_table("things"), things);
  EXPECT_EQ(store.find_table("nothing"), std::nullopt);
}

TEST_F(StoreTest, SnapshotDoesNotSeeLaterCommits) {
  put_rows(store, things, {"a||g||old"});
  auto before = store.snapshot("test");
  put_rows(store, things, {"a||g||new", "b||g||new"});
  auto after = store.snapshot("test");

  EXPECT_EQ(before->get(things, key_of("a")), "a||g||old");
  EXPECT_EQ(before->get(things, key_of("b")), std::nullopt);
  EXPECT_EQ(before->index(), 1u);
  EXPECT_EQ(after->get(things, key_of("a")), "a||g||new");
  EXPECT_EQ(after->row_count(things), 2u);
  EXPECT_EQ(after->index(), 2u);
}

TEST_F(StoreTest, TransactionReadsItsOwnWritesAndNobodyElseDoes) {
  auto transaction = store.begin(5);
  ASSERT_TRUE(transaction->put(things, "a|alice|g||").ok());
  EXPECT_EQ(transaction->get_by(things, kByName, key_of("alice")), "a|alice|g||");
  EXPECT_EQ(transaction->index(), 5u);
  EXPECT_EQ(transaction->table_index(things), 5u);
  EXPECT_EQ(store.snapshot("test")->row_count(things), 0u);
  transaction->commit();
  EXPECT_EQ(store.snapshot("test")->row_count(things), 1u);
}

TEST_F(StoreTest, DroppedTransactionLeavesNoTrace) {
  put_rows(store, things, {"a|alice|g|x,y|1", "b|bob|g|x|1"});
  const int64_t before = bytes();
  {
    auto transaction = store.begin(9);
    for (int i = 0; i < 500; ++i) {
      ASSERT_TRUE(transaction->put(things, std::to_string(i) + "|n" + std::to_string(i) + "|g|x|").ok());
    }
    ASSERT_TRUE(transaction->put(things, "a|carol|h|z|2").ok());
    ASSERT_TRUE(transaction->put(things, "a|dave|h|z|3").ok());
    ASSERT_TRUE(transaction->erase(things, key_of("b")));
    transaction->rollback_to(transaction->savepoint() - 2);
  }
  EXPECT_EQ(bytes(), before);
  EXPECT_EQ(store.index(), 1u);
  EXPECT_EQ(rows_of(*store.snapshot("test"), things), (std::vector<std::string>{"a|alice|g|x,y|1", "b|bob|g|x|1"}));
  EXPECT_EQ(store.check().to_string(), "ok");
}

TEST_F(StoreTest, UniqueViolationChangesNothing) {
  put_rows(store, things, {"a|alice|g|x|", "b|bob|g|y|"});
  const int64_t before = bytes();
  auto transaction = store.begin(2);
  const Status status = transaction->put(things, "b|alice|h|z|");
  EXPECT_EQ(status.code(), Code::already_exists);
  EXPECT_NE(status.message().find("table things, index name"), std::string::npos) << status.to_string();
  EXPECT_EQ(transaction->savepoint(), 0u);
  transaction->commit();

  EXPECT_EQ(store.snapshot("test")->get(things, key_of("b")), "b|bob|g|y|");
  EXPECT_EQ(store.snapshot("test")->table_index(things), 1u);
  EXPECT_EQ(bytes(), before);
  EXPECT_EQ(store.check().to_string(), "ok");
}

TEST_F(StoreTest, RefusesIndexKeysThatAreNotSelfDelimiting) {
  Store other;
  TableSpec spec = thing_table();
  spec.keys = [](std::string_view row, RowKeys& keys) {
    keys.primary(split(row, '|')[0]);
    keys.add(kByGroup, split(row, '|')[2]);
  };
  const TableId table = must_add(other, spec);
  auto transaction = other.begin(1);
  ASSERT_TRUE(transaction->put(table, "bc||a||").ok());
  EXPECT_EQ(transaction->put(table, "c||ab||").code(), Code::invalid_argument);
}

TEST_F(StoreTest, RefusesKeysThatAreTooLong) {
  auto transaction = store.begin(1);
  EXPECT_EQ(transaction->put(things, std::string(70000, 'k') + "||g||").code(), Code::invalid_argument);
  EXPECT_EQ(transaction->put(things, "a||" + std::string(65534, 'g') + "||").code(), Code::invalid_argument);
}

TEST_F(StoreTest, EmptyCommitMovesTheIndexOnly) {
  put_rows(store, things, {"a||g||"});
  store.begin(7)->commit();
  EXPECT_EQ(store.index(), 7u);
  EXPECT_EQ(store.snapshot("test")->table_index(things), 1u);
}

TEST_F(StoreTest, ExactRangeOfANonUniqueIndexFindsAllItsRows) {
  put_rows(store, things, {"a||g||", "b||g||", "c||gg||", "d||f||"});
  auto view = store.snapshot("test");
  const KeyRange exactly = KeyRange::exactly(key_of("g"));
  EXPECT_EQ(rows_of(*view, things, kByGroup, exactly), (std::vector<std::string>{"a||g||", "b||g||"}));
  EXPECT_EQ(rows_of(*view, things, kByGroup, exactly, Order::reverse), (std::vector<std::string>{"b||g||", "a||g||"}));
  EXPECT_EQ(view->count(things, kByGroup, exactly), 2u);
}

TEST_F(StoreTest, ResumesAScanFromAKey) {
  for (int i = 0; i < 200; ++i) put_rows(store, things, {std::to_string(i) + "||group||"});
  auto view = store.snapshot("test");
  std::vector<std::string> paged;
  KeyRange range = KeyRange::prefix(key_of("group"));
  for (bool more = true; more;) {
    auto cursor = view->scan(things, kByGroup, range);
    for (int n = 0; n < 7 && cursor->valid(); ++n, cursor->next()) paged.emplace_back(cursor->row());
    more = cursor->valid();
    if (more) range.first = cursor->key();
  }
  EXPECT_EQ(paged, rows_of(*view, things, kByGroup));
}

TEST_F(StoreTest, TransactionCursorSurvivesDeletingWhatItStandsOn) {
  for (uint32_t index : {kPrimary, kByGroup}) {
    for (Order order : {Order::forward, Order::reverse}) {
      std::vector<std::string> rows;
      for (int i = 0; i < 300; ++i) rows.push_back(std::to_string(i) + "||group||");
      put_rows(store, things, rows);
      auto transaction = store.begin(store.index() + 1);
      size_t seen = 0;
      for (auto c = transaction->scan(things, index, KeyRange::all(), order); c->valid(); c->next()) {
        const std::string id = split(c->row(), '|')[0];
        ASSERT_TRUE(transaction->erase(things, key_of(id)));
        EXPECT_EQ(split(c->row(), '|')[0], id);
        ++seen;
      }
      transaction->commit();
      EXPECT_EQ(seen, 300u);
      EXPECT_EQ(store.snapshot("test")->row_count(things), 0u);
    }
  }
}

TEST_F(StoreTest, MemoryReturnsWhenSnapshotsCloseInAnyOrder) {
  std::vector<std::string> rows;
  for (int i = 0; i < 1000; ++i) rows.push_back(std::to_string(i) + "|n" + std::to_string(i) + "|g|x,y|0");
  put_rows(store, things, rows);
  const int64_t baseline = bytes();
  std::vector<std::unique_ptr<Snapshot>> held;
  for (int i = 0; i < 400; ++i) {
    if (i % 10 == 0) held.push_back(store.snapshot("test"));
    put_rows(store, things,
             {std::to_string(i % 50) + "|n" + std::to_string(i % 50) + "|g|x,y|" + std::to_string(i % 10)});
  }
  EXPECT_GT(bytes(), baseline);
  std::mt19937 random(3);
  std::ranges::shuffle(held, random);
  held.clear();
  put_rows(store, things, rows);
  EXPECT_NEAR(static_cast<double>(bytes()), static_cast<double>(baseline), static_cast<double>(baseline) / 50);
  EXPECT_EQ(store.check().to_string(), "ok");
}

TEST_F(StoreTest, OneOldSnapshotDoesNotPinWhatWasBornAfterIt) {
  std::vector<std::string> rows;
  for (int i = 0; i < 100; ++i) rows.push_back(std::to_string(i) + "||g||0");
  put_rows(store, things, rows);
  auto old = store.snapshot("test");
  put_rows(store, things, {"1||g||1"});
  for (int i = 0; i < 100; ++i) put_rows(store, things, {std::to_string(i) + "||g||2"});
  const int64_t once = bytes();
  for (int round = 3; round < 40; ++round) {
    for (int i = 0; i < 100; ++i) put_rows(store, things, {std::to_string(i) + "||g||" + std::to_string(round % 10)});
  }
  EXPECT_EQ(bytes(), once);
}

TEST_F(StoreTest, EmptyingTheTableFreesEverything) {
  std::vector<std::string> rows;
  for (int i = 0; i < 3000; ++i) rows.push_back(std::to_string(i) + "|n" + std::to_string(i) + "|g|x|");
  put_rows(store, things, rows);
  for (int i = 0; i < 3000; ++i) erase_row(store, things, std::to_string((i * 7) % 3000));
  EXPECT_EQ(bytes(), 0);
}

TEST_F(StoreTest, WaitsForAnIndex) {
  EXPECT_EQ(store.wait_for_index(0, soon()).code(), Code::ok);
  EXPECT_EQ(store.wait_for_index(3, std::chrono::steady_clock::now()).code(), Code::deadline_exceeded);
  std::stop_source stop;
  stop.request_stop();
  EXPECT_EQ(store.wait_for_index(3, soon(), stop.get_token()).code(), Code::cancelled);
  std::jthread writer([&] {
    for (int i = 0; i < 3; ++i) put_rows(store, things, {"a||g||" + std::to_string(i)});
  });
  EXPECT_EQ(store.wait_for_index(3, soon()).code(), Code::ok);
}

TEST_F(StoreTest, CallsBackAtAnIndex) {
  int calls = 0;
  Watch later = store.when_index(2, [&](WakeReason) { ++calls; });
  Watch cancelled = store.when_index(1, [&](WakeReason) { calls += 100; });
  cancelled.cancel();
  store.begin(1)->commit();
  EXPECT_EQ(calls, 0);
  store.begin(2)->commit();
  EXPECT_EQ(calls, 1);
  Watch at_once = store.when_index(2, [&](WakeReason) { ++calls; });
  EXPECT_EQ(calls, 2);
}

// One writer, readers and watchers together, for the thread sanitizer.
TEST(StateThreads, WriterReadersAndWatchersTogether) {
  Store store{{.feed_batches = 8, .feed_bytes = 1 << 20}};
  const TableId things = must_add(store, thing_table());
  constexpr int kCommits = 600;
  std::atomic<bool> done{false};
  std::vector<std::jthread> readers;
  for (int r = 0; r < 2; ++r) {
    readers.emplace_back([&, r] {
      while (!done) {
        auto view = store.snapshot("reader");
        const auto rows = rows_of(*view, things, r == 0 ? kPrimary : kByGroup);
        // Every commit rewrites all rows of the table with its own number.
        for (const std::string& row : rows) ASSERT_EQ(split(row, '|')[4], std::to_string(view->index()));
      }
    });
  }
  std::atomic<int> wakes{0};
  readers.emplace_back([&] {
    while (!done) {
      auto view = store.snapshot("watcher");
      ReadSet set;
      static_cast<void>(view->recording(set)->get(things, key_of("3")));
      Watch watch = store.watch(set, [&](WakeReason) { ++wakes; });
      const SteadyTime deadline = std::chrono::steady_clock::now() + 20s;
      if (set.seen_index() == kCommits) return;
      ASSERT_TRUE(store.wait_for_index(set.seen_index() + 1, deadline).ok());
    }
  });
  readers.emplace_back([&] {
    Subscription feed = store.subscribe(0);
    for (;;) {
      const FeedEvent event = feed.next(std::chrono::steady_clock::now() + 20s);
      if (event.kind == FeedEvent::Kind::closed) return;
      if (event.batch == nullptr) continue;
      for (const Change& change : event.batch->changes()) ASSERT_EQ(split(change.after->bytes(), '|').size(), 5u);
    }
  });
  for (int i = 1; i <= kCommits; ++i) {
    std::vector<std::string> rows;
    for (int k = 0; k < 40; ++k) {
      rows.push_back(std::to_string(k) + "|n" + std::to_string((k + i) % 100) + std::string(k % 3, 'x') + "|g" +
                     std::to_string((k + i) % 7) + "||" + std::to_string(i));
    }
    auto transaction = store.begin(static_cast<uint64_t>(i));
    for (int k = 0; k < 40; ++k) transaction->erase(things, key_of(std::to_string(k)));
    for (const std::string& row : rows) ASSERT_TRUE(transaction->put(things, row).ok());
    transaction->commit();
  }
  done = true;
  store.close_feed();
  readers.clear();
  EXPECT_EQ(store.snapshot("test")->check().to_string(), "ok");
}

}  // namespace
}  // namespace drover::state
