#include "kernel/state/snapshot_file.h"

#include <gtest/gtest.h>

#include "tests/support/state_rows.h"

namespace drover::state {
namespace {

std::string saved(Store& store) {
  StringSink sink;
  EXPECT_TRUE(write_snapshot(*store.snapshot("test"), sink).ok());
  return sink.bytes;
}

struct TwoTables {
  explicit TwoTables(bool swapped = false) {
    for (const char* name : {swapped ? "zebras" : "things", swapped ? "things" : "zebras"}) {
      must_add(store, thing_table(name));
    }
    things = *store.find_table("things");
    zebras = *store.find_table("zebras");
  }
  Store store{no_feed()};
  TableId things;
  TableId zebras;
};

void fill(TwoTables& t, int rows, size_t payload) {
  auto transaction = t.store.begin(t.store.index() + 1);
  for (int i = 0; i < rows; ++i) {
    const std::string n = std::to_string(i);
    ASSERT_TRUE(
        transaction->put(t.things, n + "|name" + n + "|g" + std::to_string(i % 7) + "|x,y|" + std::string(payload, 'p'))
            .ok());
  }
  ASSERT_TRUE(transaction->put(t.zebras, "z|stripes|g||").ok());
  transaction->commit();
}

TEST(SnapshotFile, RoundTripRestoresRowsIndexesAndLogIndexes) {
  TwoTables from;
  fill(from, 5000, 500);
  from.store.begin(9)->commit();
  const std::string bytes = saved(from.store);
  TwoTables to;
  StringSource source(bytes, 777);

  ASSERT_EQ(to.store.restore(source).to_string(), "ok");

  EXPECT_EQ(to.store.check().to_string(), "ok");
  EXPECT_EQ(to.store.index(), 9u);
  auto a = from.store.snapshot("test");
  auto b = to.store.snapshot("test");
  for (uint32_t index = kPrimary; index <= kByTag; ++index) {
    EXPECT_EQ(rows_of(*a, from.things, index), rows_of(*b, to.things, index));
  }
  EXPECT_EQ(b->table_index(to.things), 1u);
  EXPECT_EQ(rows_of(*b, to.zebras), std::vector<std::string>{"z|stripes|g||"});
}

TEST(SnapshotFile, SameStateGivesTheSameBytes) {
  TwoTables a;
  TwoTables b(true);
  fill(a, 300, 10);
  fill(b, 300, 10);
  put_rows(a.store, a.things, {"5|other|g||"});
  put_rows(b.store, b.things, {"5|other|g||"});
  EXPECT_EQ(saved(a.store), saved(b.store));
}

TEST(SnapshotFile, EmptyStoreAndRowsLargerThanAChunk) {
  TwoTables empty;
  fill(empty, 2, 3 << 20);
  TwoTables to;
  const std::string large = saved(empty.store);
  StringSource source(large);
  ASSERT_EQ(to.store.restore(source).to_string(), "ok");
  EXPECT_EQ(saved(to.store), large);

  TwoTables nothing;
  const std::string bytes = saved(nothing.store);
  StringSource again(bytes);
  ASSERT_EQ(to.store.restore(again).to_string(), "ok");
  EXPECT_EQ(to.store.snapshot("test")->row_count(to.things), 0u);
  EXPECT_EQ(to.store.check().to_string(), "ok");
}

TEST(SnapshotFile, EveryFlippedByteAndEveryTruncationIsDetected) {
  TwoTables from;
  fill(from, 5, 3);
  const std::string good = saved(from.store);
  TwoTables to;
  put_rows(to.store, to.things, {"kept||g||"});
  for (size_t at = 0; at < good.size(); ++at) {
    for (const int bit : {0x01, 0x80, 0xFF}) {
      std::string bad = good;
      bad[at] = static_cast<char>(bad[at] ^ bit);
      StringSource source(bad);
      const Status status = to.store.restore(source);
      ASSERT_FALSE(status.ok()) << "byte " << at;
      ASSERT_NE(status.message().find("state snapshot: "), std::string::npos);
    }
    StringSource cut(std::string_view(good).substr(0, at));
    ASSERT_EQ(to.store.restore(cut).code(), Code::data_loss) << "cut at " << at;
  }
  const std::string longer = good + "x";
  StringSource trailing(longer);
  EXPECT_EQ(to.store.restore(trailing).code(), Code::data_loss);

  EXPECT_EQ(rows_of(*to.store.snapshot("test"), to.things), std::vector<std::string>{"kept||g||"});
  EXPECT_EQ(to.store.check().to_string(), "ok");
}

TEST(SnapshotFile, NamesTheOffsetOfDamage) {
  TwoTables from;
  fill(from, 5, 3);
  const std::string good = saved(from.store);
  StringSource source(std::string_view(good).substr(0, 10));
  EXPECT_EQ(inspect_state_snapshot(source).status().to_string(),
            "data_loss: state snapshot: it ends too early (at byte 10)");
}

TEST(SnapshotFile, NamesATableThatNoPluginDeclares) {
  TwoTables from;
  fill(from, 5, 3);
  const std::string bytes = saved(from.store);
  Store poor;
  must_add(poor, thing_table());
  StringSource source(bytes);
  EXPECT_EQ(
      poor.restore(source).to_string(),
      "failed_precondition: state snapshot: it has a table zebras of test.Thing, which no loaded plugin declares");
}

TEST(SnapshotFile, RefusesDuplicateKeys) {
  TwoTables from;
  fill(from, 5, 3);
  const std::string bytes = saved(from.store);
  Store other(no_feed());
  TableSpec spec = thing_table();
  spec.keys = [](std::string_view, RowKeys& keys) { keys.primary("same"); };
  must_add(other, spec);
  must_add(other, thing_table("zebras"));
  StringSource source(bytes);
  EXPECT_EQ(other.restore(source).code(), Code::data_loss);
  EXPECT_EQ(other.check().to_string(), "ok");
}

TEST(SnapshotFile, OldSnapshotsOutliveARestore) {
  TwoTables from;
  fill(from, 3000, 20);
  const std::string bytes = saved(from.store);
  TwoTables to;
  put_rows(to.store, to.things, {"first||g|x|"});
  auto older = to.store.snapshot("test");
  fill(to, 2000, 5);
  auto old = to.store.snapshot("test");
  const auto before = rows_of(*old, to.things, kByTag);
  Subscription feed = to.store.subscribe(to.store.index());
  ReadSet set;
  static_cast<void>(old->recording(set)->get(to.things, key_of("1")));
  std::vector<WakeReason> reasons;
  Watch waiting = to.store.watch(set, [&](WakeReason reason) { reasons.push_back(reason); });
  StringSource source(bytes);

  ASSERT_EQ(to.store.restore(source).to_string(), "ok");
  Watch late = to.store.watch(set, [&](WakeReason reason) { reasons.push_back(reason); });

  EXPECT_EQ(reasons, (std::vector{WakeReason::abandoned, WakeReason::abandoned}));
  EXPECT_EQ(feed.next(std::chrono::steady_clock::now()).kind, FeedEvent::Kind::resync);
  EXPECT_EQ(rows_of(*old, to.things, kByTag), before);
  EXPECT_EQ(old->check().to_string(), "ok");
  old.reset();
  while (to.store.reclaim()) {
  }
  EXPECT_EQ(rows_of(*older, to.things), std::vector<std::string>{"first||g|x|"});
  EXPECT_EQ(older->check().to_string(), "ok");
  older.reset();
  EXPECT_EQ(to.store.check().to_string(), "ok");
}

// --- by an entry of the log ------------------------------------------------------------------------------------------

TEST(ReplaceAll, PutsTheSnapshotsRowsInThePlaceOfAllOthersAtTheEntrysIndex) {
  TwoTables from;
  fill(from, 3000, 50);
  const std::string bytes = saved(from.store);
  TwoTables to;
  put_rows(to.store, to.things, {"gone|gone|g|x|", "3|other|h|z|"});
  to.store.begin(41)->commit();

  auto transaction = to.store.begin(42);
  StringSource source(bytes, 1000);
  ASSERT_EQ(transaction->replace_all(source).to_string(), "ok");
  transaction->commit();

  auto now = to.store.snapshot("test");
  auto then = from.store.snapshot("test");
  for (uint32_t index = kPrimary; index <= kByTag; ++index)
    EXPECT_EQ(rows_of(*now, to.things, index), rows_of(*then, from.things, index));
  EXPECT_EQ(to.store.index(), 42u);
  EXPECT_EQ(now->table_index(to.things), 42u);
  EXPECT_EQ(now->table_index(to.zebras), 42u);
  EXPECT_EQ(now->floor_index(), 42u);
  now.reset();
  then.reset();
  while (to.store.reclaim()) {
  }
  EXPECT_EQ(to.store.check().to_string(), "ok");
}

TEST(ReplaceAll, ReadsRowsThatItReplaces) {
  TwoTables from;
  fill(from, 3, 3);
  const std::string bytes = saved(from.store);
  TwoTables to;
  put_rows(to.store, to.things, {"a||g||" + bytes});

  auto transaction = to.store.begin(2);
  StringSource source(transaction->get(to.things, key_of("a"))->substr(std::string_view("a||g||").size()));
  ASSERT_EQ(transaction->replace_all(source).to_string(), "ok");
  transaction->commit();

  EXPECT_EQ(to.store.snapshot("test")->row_count(to.things), 3u);
  EXPECT_EQ(to.store.check().to_string(), "ok");
}

TEST(ReplaceAll, AnErrorLeavesTheTransactionAsItWas) {
  TwoTables from;
  fill(from, 5, 3);
  std::string bytes = saved(from.store);
  bytes.back() = static_cast<char>(bytes.back() ^ 1);
  TwoTables to;
  put_rows(to.store, to.things, {"kept||g||"});

  auto transaction = to.store.begin(2);
  StringSource source(bytes);
  EXPECT_EQ(transaction->replace_all(source).code(), Code::data_loss);
  EXPECT_FALSE(transaction->has_replaced());
  ASSERT_TRUE(transaction->put(to.things, "new||g||").ok());
  StringSource again(bytes);
  EXPECT_EQ(transaction->replace_all(again).code(), Code::internal);
  transaction->commit();

  EXPECT_EQ(rows_of(*to.store.snapshot("test"), to.things), (std::vector<std::string>{"kept||g||", "new||g||"}));
  EXPECT_EQ(to.store.check().to_string(), "ok");
}

TEST(ReplaceAll, WakesWhoeverWaitsAndHasSubscribersStartAnew) {
  TwoTables from;
  fill(from, 5, 3);
  const std::string bytes = saved(from.store);
  TwoTables to;
  put_rows(to.store, to.things, {"kept||g||"});
  Subscription feed = to.store.subscribe(to.store.index());
  ReadSet set;
  static_cast<void>(to.store.snapshot("test")->recording(set)->get(to.things, key_of("nobody")));
  std::vector<WakeReason> reasons;
  Watch waiting = to.store.watch(set, [&](WakeReason reason) { reasons.push_back(reason); });

  auto transaction = to.store.begin(2);
  StringSource source(bytes);
  ASSERT_TRUE(transaction->replace_all(source).ok());
  transaction->commit();
  Watch late = to.store.watch(set, [&](WakeReason reason) { reasons.push_back(reason); });

  EXPECT_EQ(reasons, (std::vector{WakeReason::changed, WakeReason::changed}));
  EXPECT_EQ(feed.next(std::chrono::steady_clock::now()).kind, FeedEvent::Kind::resync);
}

// The example of docs/formats/state-snapshot.md. A released form: these bytes must be readable for ever.
constexpr std::string_view kReleased =
    "44524f56534e41500100000007000000000000000100000032a09d345406007468696e67730a00746573742e5468696e6702"
    "000000000000000700000000000000f84e30d352190000000b000000617c616c6963657c677c7c06000000627c7c677c7c7b"
    "2fb7bc450200000000000000d7ef58f5";

TEST(SnapshotFile, ReleasedBytesStayReadable) {
  std::string bytes;
  for (size_t i = 0; i < kReleased.size(); i += 2) {
    bytes.push_back(static_cast<char>(std::stoi(std::string(kReleased.substr(i, 2)), nullptr, 16)));
  }
  Store store;
  const TableId things = must_add(store, thing_table());
  StringSource source(bytes);
  ASSERT_EQ(store.restore(source).to_string(), "ok");
  EXPECT_EQ(store.index(), 7u);
  EXPECT_EQ(rows_of(*store.snapshot("test"), things), (std::vector<std::string>{"a|alice|g||", "b||g||"}));
  EXPECT_EQ(saved(store), bytes);
}

TEST(SnapshotFile, InspectCountsWithoutAStore) {
  TwoTables from;
  fill(from, 5, 3);
  const std::string bytes = saved(from.store);
  StringSource source(bytes);
  Result<SnapshotContent> content = inspect_state_snapshot(source);
  ASSERT_TRUE(content.ok());
  EXPECT_EQ(content->index, 1u);
  ASSERT_EQ(content->tables.size(), 2u);
  EXPECT_EQ(content->tables[0].name, "things");
  EXPECT_EQ(content->tables[0].rows, 5u);
  EXPECT_EQ(content->tables[0].bytes, 5u * std::string("0|name0|g0|x,y|ppp").size());
  EXPECT_EQ(content->tables[1].message, "test.Thing");
}

}  // namespace
}  // namespace drover::state
