#include <cerrno>
#include <numeric>
#include <set>
#include <thread>

#include "gtest/gtest.h"
#include "kernel/raft/segment_log.h"
#include "kernel/raft/test_support.h"
#include "tests/support/fault_file_system.h"
#include "tests/support/memory_log.h"

namespace drover::raft {
namespace {

const NodeId kNode = *Uuid::parse("11111111-1111-4111-8111-111111111111");
const ClusterId kCluster = *Uuid::parse("22222222-2222-4222-8222-222222222222");

SegmentLogOptions options() {
  return {.directory = "/raft",
          .cluster_id = kCluster,
          .node_id = kNode,
          .segment_bytes = 64 << 10,
          .initial_segment_bytes = 64 << 10,
          .idle_confirm = std::chrono::hours(1)};
}

Entry entry(Index index, Term term, std::string payload) {
  return {.index = index,
          .term = term,
          .type = EntryType::command,
          .payload = std::make_shared<const std::string>(std::move(payload))};
}

// A log with the number of its newest confirmed write.
struct Opened {
  std::unique_ptr<SegmentLog> log;
  std::mutex mutex;
  std::condition_variable changed;
  uint64_t confirmed = 0;
  uint64_t next = 0;
  Status failure;

  Status open(FileSystem& files, SegmentLogOptions with = options()) {
    with.on_failure = [this](const Status& status) {
      const std::lock_guard lock(mutex);
      failure = status;
      changed.notify_all();
    };
    DROVER_TRY(log, SegmentLog::open(files, with));
    next = log->recovered().write_seq;
    return ok_status();
  }
  void start() {
    log->start([this](uint64_t seq) {
      const std::lock_guard lock(mutex);
      EXPECT_GT(seq, confirmed);
      confirmed = seq;
      changed.notify_all();
    });
  }
  void submit(LogWrite write) {
    write.write_seq = ++next;
    log->submit(std::move(write));
  }
  // True when everything submitted is durable; false when the log failed.
  bool wait() {
    std::unique_lock lock(mutex);
    changed.wait(lock, [&] { return confirmed == next || !failure.ok(); });
    return failure.ok();
  }
  bool write(LogWrite write) {
    submit(std::move(write));
    return wait();
  }
  std::string payload(Index index) {
    auto entries = log->read(index, index, 1 << 20);
    return entries.ok() ? std::string(entries->front().bytes()) : entries.status().to_string();
  }
};

LogWrite entries(std::vector<Entry> list) { return {.entries = std::move(list)}; }

TEST(SegmentLog, ReadsBackWhatWasWrittenAfterAnOrderlyStop) {
  for (const bool takes_direct : {true, false}) {
    FaultFileSystem files(1, takes_direct);
    {
      Opened a;
      ASSERT_EQ(a.open(files), ok_status());
      EXPECT_TRUE(a.log->recovered().is_fresh);
      a.start();
      ASSERT_TRUE(a.write(
          {.entries = {entry(1, 1, "one"), entry(2, 1, std::string(9000, 'x'))}, .hard_state = HardState{1, kNode}}));
      ASSERT_TRUE(a.write({.entries = {entry(3, 2, "")}, .hard_state = HardState{2, kNode}}));
      EXPECT_EQ(a.log->stats().is_direct, takes_direct);
      EXPECT_EQ(a.log->durable_index(), 3u);
    }
    Opened b;
    ASSERT_EQ(b.open(files), ok_status());
    const LogState state = b.log->recovered();
    EXPECT_EQ(state.hard_state, (HardState{2, kNode}));
    EXPECT_EQ(state.last_index, 3u);
    EXPECT_EQ(state.last_term, 2u);
    EXPECT_EQ(state.write_seq, 2u);
    EXPECT_TRUE(state.was_clean);
    EXPECT_EQ(b.payload(1), "one");
    EXPECT_EQ(b.payload(2), std::string(9000, 'x'));
    EXPECT_EQ(*b.log->term_at(2), 1u);
    b.start();
    ASSERT_TRUE(b.write(entries({entry(4, 2, "four")})));
    EXPECT_EQ(b.log->stats().segments, 1u) << "an orderly stop is continued in the same segment";
  }
}

TEST(SegmentLog, CollectsIntoOneBatchWhileTheDiskIsBusy) {
  FaultFileSystem files(1);
  Opened a;
  ASSERT_EQ(a.open(files), ok_status());
  for (Index i = 1; i <= 100; ++i) a.submit(entries({entry(i, 1, "x")}));
  a.start();
  ASSERT_TRUE(a.wait());
  EXPECT_EQ(a.log->stats().batches, 1u);
  EXPECT_EQ(a.log->stats().entries, 100u);
}

TEST(SegmentLog, TruncationIsARecord) {
  FaultFileSystem files(1);
  SegmentLogOptions with = options();
  with.cache_bytes = 0;  // so that reads come from the disk
  {
    Opened a;
    ASSERT_EQ(a.open(files, with), ok_status());
    a.start();
    ASSERT_TRUE(a.write(entries({entry(1, 1, "a"), entry(2, 1, "b"), entry(3, 1, "c")})));
    ASSERT_TRUE(a.write(entries({entry(4, 1, "d")})));
    ASSERT_TRUE(a.write({.truncate_from = 3, .entries = {entry(3, 2, "C")}}));
    EXPECT_EQ(a.log->last_index(), 3u);
    EXPECT_EQ(a.payload(2), "b");
    EXPECT_EQ(a.payload(3), "C");
  }
  Opened b;
  ASSERT_EQ(b.open(files, with), ok_status());
  EXPECT_EQ(b.log->last_index(), 3u);
  EXPECT_EQ(*b.log->term_at(3), 2u);
  EXPECT_EQ(b.payload(2), "b");
  EXPECT_EQ(b.payload(3), "C");
  EXPECT_EQ(b.log->read(4, 4, 1).status().code(), Code::out_of_range);
}

TEST(SegmentLog, OverwritingWhileAnEarlierWriteIsOutCountsOnlyWhenTheNewOneIsDurable) {
  FaultFileSystem files(1);
  Opened a;
  ASSERT_EQ(a.open(files), ok_status());
  a.submit(entries({entry(1, 1, "a"), entry(2, 1, "b")}));
  a.submit({.truncate_from = 2, .entries = {entry(2, 2, "B")}});
  EXPECT_EQ(a.log->durable_index(), 0u);
  a.start();
  ASSERT_TRUE(a.wait());
  EXPECT_EQ(a.log->durable_index(), 2u);
  EXPECT_EQ(a.payload(2), "B");
}

TEST(SegmentLog, DropsAndRecyclesSegmentsBehindTheFirstIndex) {
  FaultFileSystem files(1);
  const std::string payload(3000, 'p');
  Index last = 0;
  {
    Opened a;
    ASSERT_EQ(a.open(files), ok_status());
    a.start();
    for (; last < 100; ++last)
      ASSERT_TRUE(a.write({.entries = {entry(last + 1, 1, payload)}, .hard_state = HardState{1, kNode}}));
    EXPECT_GT(a.log->stats().segments, 5u);
    // Spares fill up in the background; then those are used first, and old segments take their place.
    for (Index first = 50; first <= 90; first += 10) ASSERT_TRUE(a.write({.first_index = first}));
    for (; last < 200; ++last) {
      ASSERT_TRUE(a.write(entries({entry(last + 1, 1, payload)})));
      ASSERT_TRUE(a.write({.first_index = last - 5}));
    }
    EXPECT_EQ(a.log->first_index(), 194u);
    EXPECT_TRUE(eventually([&] { return a.log->stats().segments <= 3; }));
    EXPECT_GT(a.log->stats().recycled_segments, 0u);
    EXPECT_EQ(a.log->read(193, 200, 1).status().code(), Code::out_of_range);
    EXPECT_EQ(a.payload(194), payload);
  }
  Opened b;
  ASSERT_EQ(b.open(files), ok_status());
  EXPECT_EQ(b.log->first_index(), 194u);
  EXPECT_EQ(b.log->last_index(), 200u);
  EXPECT_EQ(b.log->recovered().hard_state, (HardState{1, kNode}));
  EXPECT_EQ(*b.log->term_at(193), 1u);
  EXPECT_EQ(b.payload(200), payload);
}

TEST(SegmentLog, StartsOverBehindAnInstalledSnapshot) {
  FaultFileSystem files(1);
  {
    Opened a;
    ASSERT_EQ(a.open(files), ok_status());
    a.start();
    ASSERT_TRUE(a.write(entries({entry(1, 1, "a"), entry(2, 1, "b")})));
    ASSERT_TRUE(a.write({.first_index = 1000, .start_over = true, .prev_term = 7}));
    ASSERT_TRUE(a.write(entries({entry(1000, 8, "k")})));
  }
  Opened b;
  ASSERT_EQ(b.open(files), ok_status());
  EXPECT_EQ(b.log->first_index(), 1000u);
  EXPECT_EQ(b.log->last_index(), 1000u);
  EXPECT_EQ(*b.log->term_at(999), 7u);
  EXPECT_EQ(b.payload(1000), "k");
}

TEST(SegmentLog, KeepsTheMembershipWhenItsEntryIsCompactedAway) {
  FaultFileSystem files(1);
  const Membership membership{.index = 1, .members = {{.id = kNode, .address = "here:4647"}}};
  {
    Opened a;
    ASSERT_EQ(a.open(files), ok_status());
    a.start();
    Entry first = entry(1, 1, encode_membership(membership));
    first.type = EntryType::membership;
    ASSERT_TRUE(a.write({.entries = {first}, .membership = membership}));
    for (Index i = 2; i < 60; ++i) ASSERT_TRUE(a.write(entries({entry(i, 1, std::string(5000, 'x'))})));
    ASSERT_TRUE(a.write({.first_index = 55}));
  }
  Opened b;
  ASSERT_EQ(b.open(files), ok_status());
  EXPECT_EQ(b.log->recovered().membership, membership);
}

TEST(SegmentLog, AnEntryLargerThanASegmentGetsItsOwn) {
  FaultFileSystem files(1);
  const std::string large(300 << 10, 'L');
  {
    Opened a;
    ASSERT_EQ(a.open(files), ok_status());
    a.start();
    ASSERT_TRUE(a.write(entries({entry(1, 1, "s"), entry(2, 1, large)})));
    ASSERT_TRUE(a.write(entries({entry(3, 1, "t")})));
  }
  Opened b;
  ASSERT_EQ(b.open(files), ok_status());
  EXPECT_EQ(b.payload(2), large);
  EXPECT_EQ(b.payload(3), "t");
}

TEST(SegmentLog, CutsATornTailAndBeginsANewSegment) {
  int torn = 0;
  for (uint64_t seed = 1; seed <= 30; ++seed) {
    SCOPED_TRACE(seed);
    FaultFileSystem files(seed);
    {
      Opened a;
      ASSERT_EQ(a.open(files), ok_status());
      a.start();
      ASSERT_TRUE(a.write(entries({entry(1, 1, "one")})));
      files.crash_after(1);
      EXPECT_FALSE(a.write(entries({entry(2, 1, std::string(20000, 'x'))})));
      EXPECT_NE(a.failure.message().find("pwrite /raft/seg-"), std::string::npos) << a.failure.message();
    }
    files.reboot();
    {
      Opened b;
      ASSERT_EQ(b.open(files), ok_status());
      EXPECT_FALSE(b.log->recovered().was_clean);
      torn += b.log->recovered().torn_bytes > 0 ? 1 : 0;
      const Index next = b.log->last_index() + 1;
      ASSERT_TRUE(next == 2 || next == 3);
      b.start();
      ASSERT_TRUE(b.write(entries({entry(next, 2, "after")})));
      EXPECT_EQ(b.log->stats().segments, 2u);
    }
    Opened c;
    ASSERT_EQ(c.open(files), ok_status());
    EXPECT_EQ(c.payload(c.log->last_index()), "after");
  }
  EXPECT_GT(torn, 20);
}

// One flipped byte anywhere: either the start is refused, or everything acknowledged is still there.
TEST(SegmentLog, NoFlippedByteLosesAcknowledgedEntriesInSilence) {
  FaultFileSystem files(1);
  SegmentLogOptions with = options();
  with.idle_confirm = std::chrono::milliseconds(1);
  with.segment_bytes = with.initial_segment_bytes = 32 << 10;
  constexpr Index kLast = 14;
  {
    Opened a;
    ASSERT_EQ(a.open(files, with), ok_status());
    a.start();
    for (Index i = 1; i <= kLast; ++i) {
      ASSERT_TRUE(a.write({.entries = {entry(i, 1, "value " + std::to_string(i))}, .hard_state = HardState{1, kNode}}));
    }
    ASSERT_TRUE(eventually([&] { return a.log->stats().confirm_batches > 0; }));
  }
  int refused = 0;
  int kept = 0;
  for (const std::string& path : files.paths()) {
    if (path.find("/seg-") == std::string::npos) continue;
    const std::string good = files.content(path);
    for (size_t at = 0; at < good.size(); ++at) {
      // Padding is not summed; a few bytes of it stand for the rest.
      if (good[at] == 0 && at % kBlock > 256 && at % 61 != 0) continue;
      std::string bad = good;
      bad[at] = static_cast<char>(bad[at] ^ (1 << (at % 8)));
      files.set_content(path, bad);
      Result<Recovery> recovery = recover_log(files, "/raft", kCluster, kNode, 1 << 20);
      if (!recovery.ok()) {
        ++refused;
        const Code code = recovery.status().code();
        ASSERT_TRUE(code == Code::data_loss || code == Code::failed_precondition) << recovery.status().to_string();
        ASSERT_NE(recovery.status().message().find("/raft/seg-"), std::string::npos) << recovery.status().message();
        continue;
      }
      ++kept;
      ASSERT_EQ(recovery->state.last_index, kLast) << path << " offset " << at;
      ASSERT_EQ(recovery->state.hard_state, (HardState{1, kNode})) << path << " offset " << at;
      const auto all = recovery->index.cached(1, kLast, 1 << 20);
      for (Index i = 1; i <= kLast; ++i) ASSERT_EQ(all[i - 1].bytes(), "value " + std::to_string(i));
    }
    files.set_content(path, good);
  }
  EXPECT_GT(refused, 3000);
  EXPECT_GT(kept, 50);
}

TEST(SegmentLog, NamesFileAndOffsetOfDamageAndChangesNothing) {
  FaultFileSystem files(1);
  {
    Opened a;
    ASSERT_EQ(a.open(files), ok_status());
    a.start();
    for (Index i = 1; i <= 3; ++i) ASSERT_TRUE(a.write(entries({entry(i, 1, "value")})));
  }
  const std::string path = "/raft/" + segment_name(1);
  std::string bytes = files.content(path);
  bytes[2 * kBlock + kBatchHeaderBytes + kEntryHeaderBytes] ^= 1;
  files.set_content(path, bytes);
  Opened b;
  const Status status = b.open(files);
  EXPECT_EQ(status.code(), Code::data_loss);
  EXPECT_NE(status.message().find(path + ": offset 8192"), std::string::npos) << status.message();
  EXPECT_EQ(files.content(path), bytes);
}

TEST(SegmentLog, RefusesAMissingOrShortenedSegment) {
  FaultFileSystem files(1);
  {
    Opened a;
    ASSERT_EQ(a.open(files), ok_status());
    a.start();
    for (Index i = 1; i < 60; ++i) ASSERT_TRUE(a.write(entries({entry(i, 1, std::string(5000, 'x'))})));
    ASSERT_GE(a.log->stats().segments, 4u);
  }
  const std::string second = files.content("/raft/" + segment_name(2));
  const std::string first = files.content("/raft/" + segment_name(1));
  const auto recover = [&] { return recover_log(files, "/raft", kCluster, kNode, 0).status().code(); };
  ASSERT_EQ(recover(), Code::ok);
  ASSERT_EQ(files.remove("/raft/" + segment_name(2)), ok_status());
  EXPECT_EQ(recover(), Code::data_loss);
  files.set_content("/raft/" + segment_name(2), second.substr(0, 5 * kBlock));
  EXPECT_EQ(recover(), Code::data_loss);
  files.set_content("/raft/" + segment_name(2), second);
  ASSERT_EQ(files.remove("/raft/" + segment_name(1)), ok_status());
  EXPECT_EQ(recover(), Code::data_loss);
  files.set_content("/raft/" + segment_name(1), first);
  EXPECT_EQ(recover(), Code::ok);
}

TEST(SegmentLog, RefusesWhatIsNotItsOwn) {
  FaultFileSystem files(1);
  {
    Opened a;
    ASSERT_EQ(a.open(files), ok_status());
    a.start();
    ASSERT_TRUE(a.write(entries({entry(1, 1, "x")})));
    Opened second;
    EXPECT_EQ(second.open(files).code(), Code::failed_precondition) << "the directory is locked";
  }
  SegmentLogOptions other = options();
  other.node_id = Uuid::random();
  Opened b;
  EXPECT_EQ(b.open(files, other).code(), Code::failed_precondition);
  other = options();
  other.cluster_id = Uuid::random();
  EXPECT_EQ(b.open(files, other).code(), Code::failed_precondition);
  other = options();
  other.node_id = other.cluster_id = {};
  EXPECT_EQ(b.open(files, other), ok_status());
  EXPECT_EQ(b.log->node_id(), kNode);
  b.log.reset();

  std::string bytes = files.content("/raft/" + segment_name(1));
  bytes[8] = 2;
  files.set_content("/raft/" + segment_name(1), bytes);
  EXPECT_EQ(b.open(files).code(), Code::data_loss) << "everything else is as format 1 has it";
  bytes[12] ^= 1;
  files.set_content("/raft/" + segment_name(1), bytes);
  const Status status = b.open(files);
  EXPECT_EQ(status.code(), Code::failed_precondition);
  EXPECT_NE(status.message().find("newer"), std::string::npos) << status.message();
}

TEST(SegmentLog, AFailedWriteOrSyncIsTheEnd) {
  struct Case {
    const char* name;
    bool takes_direct;
    std::function<void(FaultFileSystem&)> fault;
    const char* call;
  };
  const Case cases[] = {
      {"EIO", true, [](FaultFileSystem& f) { f.fail_writes("seg-", EIO); }, "pwrite"},
      {"O_DSYNC", true, [](FaultFileSystem& f) { f.fail_syncs("seg-", EIO); }, "pwrite"},
      {"fdatasync", false, [](FaultFileSystem& f) { f.fail_syncs("seg-", EIO); }, "fdatasync"},
      {"ENOSPC", false, [](FaultFileSystem& f) { f.fail_writes("seg-", ENOSPC); }, "pwrite"},
  };
  for (const Case& c : cases) {
    SCOPED_TRACE(c.name);
    FaultFileSystem files(1, c.takes_direct);
    Opened a;
    ASSERT_EQ(a.open(files), ok_status());
    a.start();
    ASSERT_TRUE(a.write(entries({entry(1, 1, "x")})));
    c.fault(files);
    EXPECT_FALSE(a.write(entries({entry(2, 1, "y")})));
    EXPECT_NE(a.failure.message().find(std::string(c.call) + " /raft/seg-"), std::string::npos) << a.failure.message();
    c.fault(files);
    files.fail_writes("", 0);
    files.fail_syncs("", 0);
    a.submit(entries({entry(2, 1, "never retried")}));
    a.log->stop();
    EXPECT_EQ(a.confirmed, 1u);
    EXPECT_EQ(a.log->durable_index(), 1u);
  }
}

TEST(SegmentLog, AFullDiskIsMetFirstByThePreparation) {
  FaultFileSystem files(1);
  Opened a;
  ASSERT_EQ(a.open(files), ok_status());
  a.start();
  ASSERT_TRUE(a.write(entries({entry(1, 1, "x")})));
  files.set_space(1000);
  for (Index i = 2; i <= 15; ++i) ASSERT_TRUE(a.write(entries({entry(i, 1, "fits into the zero-filled segment")})));
  EXPECT_FALSE(a.write(entries({entry(16, 1, std::string(60000, 'x'))})));
  EXPECT_EQ(a.failure.code(), Code::resource_exhausted);
}

TEST(SegmentLog, EndsTheProcessWithACodeOfItsOwn) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  EXPECT_EXIT(exit_on_storage_failure(errno_status(EIO, "pwrite /raft/seg-1.log")),
              testing::ExitedWithCode(kStorageExitCode), "pwrite /raft/seg-1.log");
}

TEST(SegmentLog, ReportsDamageFoundWhileReadingAnOldEntry) {
  FaultFileSystem files(1);
  SegmentLogOptions with = options();
  with.cache_bytes = 0;
  Opened a;
  ASSERT_EQ(a.open(files, with), ok_status());
  a.start();
  ASSERT_TRUE(a.write(entries({entry(1, 1, "x")})));
  files.fail_reads("seg-", EIO);
  EXPECT_NE(a.payload(1).find("pread /raft/seg-"), std::string::npos) << a.payload(1);
}

TEST(MemoryLog, ConfirmsInOrderAndHoldsOnRequest) {
  MemoryLog log;
  uint64_t confirmed = 0;
  log.start([&](uint64_t seq) { confirmed = seq; });
  log.submit({.write_seq = 1, .entries = {entry(1, 1, "a"), entry(2, 1, "b")}});
  EXPECT_EQ(confirmed, 1u);
  log.hold();
  log.submit({.write_seq = 2, .truncate_from = 2, .entries = {entry(2, 2, "B"), entry(3, 2, "C")}});
  EXPECT_EQ(log.durable_index(), 1u);
  EXPECT_EQ(log.read(2, 3, 1 << 20)->front().bytes(), "B");
  log.release();
  EXPECT_EQ(confirmed, 2u);
  EXPECT_EQ(log.durable_index(), 3u);
  log.submit({.write_seq = 3, .first_index = 3});
  EXPECT_EQ(log.first_index(), 3u);
  EXPECT_EQ(*log.term_at(2), 2u);
}

}  // namespace
}  // namespace drover::raft
