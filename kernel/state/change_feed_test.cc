#include "kernel/state/change_feed.h"

#include <gtest/gtest.h>

#include <thread>

#include "tests/support/state_rows.h"

namespace drover::state {
namespace {

using namespace std::chrono_literals;
using Kind = FeedEvent::Kind;

SteadyTime soon() { return std::chrono::steady_clock::now() + 20s; }
SteadyTime now() { return std::chrono::steady_clock::now(); }

TEST(ChangeFeed, DeliversEachCommitOnceInOrder) {
  Store store;
  const TableId things = must_add(store, thing_table());
  Subscription feed = store.subscribe(store.index());
  put_rows(store, things, {"a||g||1"});
  store.begin(2)->commit();
  erase_row(store, things, "a");

  FeedEvent first = feed.next(soon());
  ASSERT_EQ(first.kind, Kind::batch);
  EXPECT_EQ(first.index, 1u);
  ASSERT_EQ(first.batch->changes().size(), 1u);
  EXPECT_EQ(first.batch->changes()[0].table, things);
  EXPECT_EQ(first.batch->changes()[0].key, key_of("a"));
  EXPECT_FALSE(first.batch->changes()[0].before.has_value());
  EXPECT_EQ(first.batch->changes()[0].after->bytes(), "a||g||1");
  EXPECT_TRUE(feed.next(soon()).batch->changes().empty());
  FeedEvent third = feed.next(soon());
  EXPECT_EQ(third.batch->changes()[0].before->bytes(), "a||g||1");
  EXPECT_FALSE(third.batch->changes()[0].after.has_value());
  EXPECT_EQ(feed.next(now()).kind, Kind::timed_out);
}

TEST(ChangeFeed, ShowsTheNetChangeOfARow) {
  Store store;
  const TableId things = must_add(store, thing_table());
  put_rows(store, things, {"a||g||1", "b||g||1"});
  Subscription feed = store.subscribe(store.index());
  auto transaction = store.begin(2);
  ASSERT_TRUE(transaction->put(things, "b||g||2").ok());
  ASSERT_TRUE(transaction->put(things, "a||g||2").ok());
  ASSERT_TRUE(transaction->put(things, "c||g||2").ok());
  ASSERT_TRUE(transaction->erase(things, key_of("c")));
  ASSERT_TRUE(transaction->put(things, "b||g||3").ok());
  transaction->commit();

  const FeedEvent event = feed.next(soon());
  const auto& changes = event.batch->changes();
  ASSERT_EQ(changes.size(), 2u);
  EXPECT_EQ(changes[0].before->bytes(), "b||g||1");
  EXPECT_EQ(changes[0].after->bytes(), "b||g||3");
  EXPECT_EQ(changes[1].after->bytes(), "a||g||2");
}

TEST(ChangeFeed, ReplaysFromTheRing) {
  Store store;
  const TableId things = must_add(store, thing_table());
  for (int i = 1; i <= 5; ++i) put_rows(store, things, {"a||g||" + std::to_string(i)});
  Subscription feed = store.subscribe(3);
  EXPECT_EQ(feed.next(soon()).index, 4u);
  EXPECT_EQ(feed.next(soon()).index, 5u);
}

TEST(ChangeFeed, TellsASlowSubscriberToResync) {
  for (const StoreOptions options : {StoreOptions{.feed_batches = 3, .feed_bytes = 1 << 20},
                                     StoreOptions{.feed_batches = 100, .feed_bytes = 1000}}) {
    Store store(options);
    const TableId things = must_add(store, thing_table());
    Subscription slow = store.subscribe(0);
    for (int i = 1; i <= 50; ++i) put_rows(store, things, {"a||g||" + std::to_string(i)});
    Subscription late = store.subscribe(10);
    for (Subscription* feed : {&slow, &late}) {
      const FeedEvent event = feed->next(soon());
      EXPECT_EQ(event.kind, Kind::resync);
      EXPECT_EQ(event.index, 50u);
    }
    put_rows(store, things, {"a||g||last"});
    EXPECT_EQ(slow.next(soon()).index, 51u);
    EXPECT_EQ(late.next(soon()).index, 51u);
  }
}

TEST(ChangeFeed, BatchesKeepTheirRowsAlive) {
  std::shared_ptr<const ChangeBatch> batch;
  Subscription feed = [&] {
    Store store;
    const TableId things = must_add(store, thing_table());
    Subscription subscription = store.subscribe(0);
    put_rows(store, things, {"a||g||1"});
    erase_row(store, things, "a");
    batch = subscription.next(soon()).batch;
    return subscription;
  }();
  EXPECT_EQ(batch->changes()[0].after->bytes(), "a||g||1");
  EXPECT_EQ(feed.next(soon()).batch->changes()[0].before->bytes(), "a||g||1");
  EXPECT_EQ(feed.next(soon()).kind, Kind::closed);
}

TEST(ChangeFeed, DeliversCommitsOfTheFollowedTablesOnly) {
  Store store;
  const TableId things = must_add(store, thing_table());
  const TableId others = must_add(store, thing_table("others"));
  Subscription feed = store.subscribe(0, {others});
  put_rows(store, things, {"a||g||1"});
  put_rows(store, others, {"a||g||2"});
  put_rows(store, things, {"a||g||3"});
  EXPECT_EQ(feed.next(soon()).index, 2u);
  EXPECT_EQ(feed.next(now()).kind, Kind::timed_out);
  store.close_feed();
  EXPECT_EQ(feed.next(soon()).kind, Kind::closed);
}

// A follower that waits is at the end of the ring, however much others write.
TEST(ChangeFeed, AWaitingFollowerDoesNotFallBehindByOtherTables) {
  constexpr int kTries = 10'000;  // the follower may not wait yet when the others write
  Store store({.feed_batches = 3, .feed_bytes = 1 << 20});
  const TableId things = must_add(store, thing_table());
  const TableId others = must_add(store, thing_table("others"));
  Subscription feed = store.subscribe(0, {others});
  bool has_kept_up = false;
  for (int i = 0; i < kTries && !has_kept_up; ++i) {
    FeedEvent event;
    std::jthread follower([&] { event = feed.next(soon()); });
    std::this_thread::yield();
    for (int row = 0; row < 5; ++row) put_rows(store, things, {"a||g||" + std::to_string(row)});
    put_rows(store, others, {"a||g||" + std::to_string(i)});
    follower.join();
    has_kept_up = event.kind == Kind::batch;
    if (!has_kept_up) {
      ASSERT_EQ(event.kind, Kind::resync);
    }
  }
  EXPECT_TRUE(has_kept_up);
}

TEST(ChangeFeed, WaitsUntilSomethingComesOrItIsStopped) {
  Store store;
  const TableId things = must_add(store, thing_table());
  Subscription feed = store.subscribe(0);
  std::jthread writer([&] { put_rows(store, things, {"a||g||1"}); });
  EXPECT_EQ(feed.next(soon()).kind, Kind::batch);
  std::stop_source stop;
  std::jthread stopper([&] { stop.request_stop(); });
  EXPECT_EQ(feed.next(soon(), stop.get_token()).kind, Kind::closed);
}

}  // namespace
}  // namespace drover::state
