#include "kernel/state/watch.h"

#include <gtest/gtest.h>

#include <thread>

#include "tests/support/state_rows.h"

namespace drover::state {
namespace {

using namespace std::chrono_literals;

class WatchTest : public testing::Test {
 protected:
  // Watches what `read` looks at in the newest snapshot, and counts the calls.
  template <typename Read>
  Watch watch(int& calls, Read&& read) {
    auto snapshot = store.snapshot("test");
    ReadSet set;
    read(*snapshot->recording(set));
    return store.watch(set, [&calls](WakeReason) { ++calls; });
  }
  auto get(std::string id) {
    return [this, id](const ReadView& view) { static_cast<void>(view.get(things, key_of(id))); };
  }
  auto scan(uint32_t index, KeyRange range) {
    return [this, index, range](const ReadView& view) { rows_of(view, things, index, range); };
  }

  Store store;
  TableId things = must_add(store, thing_table());
  TableId others = must_add(store, thing_table("others"));
};

TEST_F(WatchTest, WakesOnceWhenTheKeyChanges) {
  put_rows(store, things, {"a||g||1"});
  int calls = 0;
  Watch w = watch(calls, get("a"));
  put_rows(store, things, {"a||g||2"});
  EXPECT_EQ(calls, 1);
  put_rows(store, things, {"a||g||3"});
  EXPECT_EQ(calls, 1);
  EXPECT_EQ(store.waiters(), 0u);
}

TEST_F(WatchTest, WakesWhenAnAbsentKeyAppearsOrAPresentOneGoes) {
  put_rows(store, things, {"a||g||1"});
  int appeared = 0;
  int gone = 0;
  Watch w1 = watch(appeared, get("b"));
  Watch w2 = watch(gone, get("a"));
  put_rows(store, things, {"b||g||1"});
  EXPECT_EQ(appeared, 1);
  EXPECT_EQ(gone, 0);
  erase_row(store, things, "a");
  EXPECT_EQ(gone, 1);
}

TEST_F(WatchTest, OtherKeysWakeNobody) {
  std::vector<std::string> rows;
  for (int i = 0; i < 5000; ++i) rows.push_back("k" + std::to_string(i) + "||g||1");
  put_rows(store, things, rows);
  int calls = 0;
  std::vector<Watch> watches;
  for (int i = 0; i < 2000; ++i) watches.push_back(watch(calls, get("absent" + std::to_string(i))));
  watches.push_back(watch(calls, get("present")));
  for (int round = 2; round < 6; ++round) {
    for (int i = 0; i < 5000; i += 7)
      put_rows(store, things, {"k" + std::to_string(i) + "||g||" + std::to_string(round)});
  }
  EXPECT_EQ(calls, 0);
}

TEST_F(WatchTest, OutdatedReadOfAnUnchangedKeyDoesNotWake) {
  put_rows(store, things, {"a||g||1"});
  auto old = store.snapshot("test");
  // So many changes that most buckets are touched: only the look at the row can tell that it is unchanged.
  std::vector<std::string> rows;
  for (int i = 0; i < 60000; ++i) rows.push_back("k" + std::to_string(i) + "||g||");
  put_rows(store, things, rows);
  int calls = 0;
  ReadSet set;
  auto view = old->recording(set);
  static_cast<void>(view->get(things, key_of("a")));
  for (int i = 0; i < 50; ++i) static_cast<void>(view->get(things, key_of("absent" + std::to_string(i))));
  static_cast<void>(view->get_by(things, kByName, key_of("nobody")));
  Watch w = store.watch(set, [&](WakeReason) { ++calls; });
  EXPECT_EQ(calls, 0);
  put_rows(store, things, {"absent7||g||"});
  EXPECT_EQ(calls, 1);
}

TEST_F(WatchTest, OutdatedReadOfAChangedKeyWakesAtOnce) {
  put_rows(store, things, {"a||g||1", "b||g||1"});
  for (const char* id : {"a", "b", "c"}) {
    auto old = store.snapshot("test");
    ReadSet set;
    static_cast<void>(old->recording(set)->get(things, key_of(id)));
    if (std::string_view(id) == "b") {
      erase_row(store, things, id);
    } else {
      put_rows(store, things, {std::string(id) + "||g||2"});
    }
    int calls = 0;
    Watch w = store.watch(set, [&](WakeReason) { ++calls; });
    EXPECT_EQ(calls, 1) << id;
  }
}

TEST_F(WatchTest, PrefixesWakeForWhatTheyCover) {
  put_rows(store, things, {"a||g1||1", "b||g2||1"});
  struct Case {
    const char* name;
    uint32_t index;
    KeyRange range;
    bool wakes;
  };
  const std::string low = key_of("g0");
  const Case cases[] = {
      {"whole primary", kPrimary, KeyRange::all(), true},
      {"the row's group, unchanged key", kByGroup, KeyRange::exactly(key_of("g1")), true},
      {"another group", kByGroup, KeyRange::exactly(key_of("g2")), false},
      {"prefix of the group", kByGroup, KeyRange::prefix("g"), true},
      {"prefix beside the group", kByGroup, KeyRange::prefix("h"), false},
      {"an interval with it", kByGroup, {low, key_of("g1x")}, true},
      {"an interval without it", kByGroup, {key_of("g2"), key_of("g3")}, false},
      {"an open interval with it", kByGroup, {low, ""}, true},
      {"an index that the row is not in", kByTag, KeyRange::all(), false},
      {"one key as a range", kPrimary, KeyRange::exactly(key_of("a")), true},
      {"another key as a range", kPrimary, KeyRange::exactly(key_of("b")), false},
  };
  int payload = 2;
  for (const Case& c : cases) {
    SCOPED_TRACE(c.name);
    int calls = 0;
    Watch w = watch(calls, scan(c.index, c.range));
    put_rows(store, things, {"a||g1||" + std::to_string(payload++)});
    EXPECT_EQ(calls, c.wakes ? 1 : 0);
  }
}

TEST_F(WatchTest, MovingBetweenGroupsWakesBoth) {
  put_rows(store, things, {"a||g1||1"});
  int left = 0;
  int entered = 0;
  Watch w1 = watch(left, scan(kByGroup, KeyRange::exactly(key_of("g1"))));
  Watch w2 = watch(entered, scan(kByGroup, KeyRange::exactly(key_of("g2"))));
  put_rows(store, things, {"a||g2||1"});
  EXPECT_EQ(left, 1);
  EXPECT_EQ(entered, 1);
}

TEST_F(WatchTest, WholeTableReadsWakeForTheirTableOnly) {
  int calls = 0;
  Watch w = watch(calls, [&](const ReadView& view) { static_cast<void>(view.row_count(others)); });
  put_rows(store, things, {"a||g||"});
  EXPECT_EQ(calls, 0);
  put_rows(store, others, {"a||g||"});
  EXPECT_EQ(calls, 1);
}

TEST_F(WatchTest, UndoneAndIdenticalWritesWakeNobody) {
  put_rows(store, things, {"a||g||1"});
  int calls = 0;
  Watch w = watch(calls, get("a"));
  put_rows(store, things, {"a||g||1"});
  auto transaction = store.begin(store.index() + 1);
  ASSERT_TRUE(transaction->put(things, "a||g||2").ok());
  transaction->rollback_to(0);
  ASSERT_TRUE(transaction->put(things, "b||g||2").ok());
  transaction->commit();
  EXPECT_EQ(calls, 0);
}

TEST_F(WatchTest, ALongListOfKeysBecomesAWatchOnTheTable) {
  int calls = 0;
  Watch w = watch(calls, [&](const ReadView& view) {
    for (int i = 0; i < 6000; ++i) static_cast<void>(view.get(things, key_of(std::to_string(i))));
  });
  put_rows(store, things, {"5999||g||"});
  EXPECT_EQ(calls, 1);
}

TEST_F(WatchTest, CancelledAndDroppedWatchesAreNeverCalled) {
  int calls = 0;
  Watch cancelled = watch(calls, get("a"));
  cancelled.cancel();
  { Watch dropped = watch(calls, get("a")); }
  put_rows(store, things, {"a||g||"});
  EXPECT_EQ(calls, 0);
  EXPECT_EQ(store.waiters(), 0u);
}

TEST_F(WatchTest, ACallbackMayDropItsOwnWatch) {
  ReadSet set;
  static_cast<void>(store.snapshot("test")->recording(set)->get(things, key_of("a")));
  int calls = 0;
  Watch w;
  w = store.watch(set, [&](WakeReason) {
    ++calls;
    w.cancel();
  });
  put_rows(store, things, {"a||g||"});
  EXPECT_EQ(calls, 1);
}

TEST_F(WatchTest, ARestoreAbandonsEverybody) {
  std::vector<WakeReason> reasons;
  ReadSet set;
  StringSink saved;
  ASSERT_TRUE(write_snapshot(*store.snapshot("test"), saved).ok());
  static_cast<void>(store.snapshot("test")->recording(set)->get(things, key_of("a")));
  Watch w1 = store.watch(set, [&](WakeReason reason) { reasons.push_back(reason); });
  Watch w2 = store.when_index(99, [&](WakeReason reason) { reasons.push_back(reason); });
  Watch w3 = store.watch(ReadSet(), [&](WakeReason reason) { reasons.push_back(reason); });
  StringSource source(saved.bytes);
  ASSERT_TRUE(store.restore(source).ok());
  EXPECT_EQ(reasons, std::vector(3, WakeReason::abandoned));
}

// A reader that always sleeps until its read is outdated must see every value up to the last.
TEST(WatchThreads, NoWakeUpIsLost) {
  for (const bool by_range : {false, true}) {
    Store store;
    const TableId things = must_add(store, thing_table());
    constexpr uint64_t kCommits = 4000;
    std::jthread writer([&] {
      for (uint64_t i = 1; i <= kCommits; ++i) put_rows(store, things, {"a||g||" + std::to_string(i)});
    });
    for (uint64_t seen = 0; seen < kCommits;) {
      auto snapshot = store.snapshot("test");
      ReadSet set;
      auto view = snapshot->recording(set);
      if (by_range) {
        rows_of(*view, things, kByGroup, KeyRange::prefix("g"));
      } else {
        static_cast<void>(view->get(things, key_of("a")));
      }
      seen = snapshot->index();
      if (seen == kCommits) break;
      std::atomic<bool> woken{false};
      Watch w = store.watch(set, [&](WakeReason) {
        woken = true;
        woken.notify_one();
      });
      woken.wait(false);  // for ever when a wake-up is lost: the suite's time limit reports it
      EXPECT_GT(store.index(), seen);
    }
  }
}

TEST(WatchThreads, NothingRunsAfterCancel) {
  Store store;
  const TableId things = must_add(store, thing_table());
  std::atomic<bool> done{false};
  std::jthread writer([&] {
    for (int i = 0; !done; ++i) put_rows(store, things, {"a||g||" + std::to_string(i)});
  });
  for (int i = 0; i < 3000; ++i) {
    auto alive = std::make_unique<std::atomic<int>>(0);
    ReadSet set;
    static_cast<void>(store.snapshot("test")->recording(set)->get(things, key_of("a")));
    Watch w = store.watch(set, [counter = alive.get()](WakeReason) { ++*counter; });
    w.cancel();
    EXPECT_LE(*alive, 1);
    alive.reset();  // a late callback would be a use after free
  }
  done = true;
}

}  // namespace
}  // namespace drover::state
