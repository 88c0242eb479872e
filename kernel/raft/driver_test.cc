#include "kernel/raft/driver.h"

#include <algorithm>
#include <atomic>
#include <thread>

#include "gtest/gtest.h"
#include "kernel/raft/snapshot_store.h"
#include "kernel/raft/test_support.h"
#include "tests/support/fault_file_system.h"

namespace drover::raft {
namespace {

using std::chrono::milliseconds;

Options options(std::string directory = "/raft") {
  Options options;
  options.directory = std::move(directory);
  options.address = "127.0.0.1:4647";
  options.log.segment_bytes = 64 << 10;
  options.log.initial_segment_bytes = 64 << 10;
  options.log.on_failure = [](const Status&) {};
  return options;
}

SteadyTime in(milliseconds time) { return std::chrono::steady_clock::now() + time; }

TEST(Raft, AppliesAProposalAndAnswers) {
  FaultFileSystem files(1);
  Server server(files, options());
  ASSERT_EQ(server.start(), ok_status());
  const Result<Applied> applied = propose(*server.raft, "a");
  ASSERT_TRUE(applied.ok()) << applied.status().to_string();
  EXPECT_EQ(applied->answer, "answer a");
  EXPECT_EQ(server.raft->applied_index(), applied->index);
  EXPECT_EQ(server.raft->commit_index(), applied->index);
  EXPECT_EQ(server.raft->durable_index(), applied->index);
  EXPECT_EQ(server.raft->last_index(), applied->index);
  EXPECT_EQ(server.raft->role(), Role::leader);
  EXPECT_EQ(server.raft->leader_hint().id, server.raft->node_id());
  EXPECT_EQ(server.raft->leader_hint().address, "127.0.0.1:4647");
}

TEST(Raft, AnErrorOfTheStateMachineIsAnAnswer) {
  FaultFileSystem files(1);
  Server server(files, options());
  ASSERT_EQ(server.start(), ok_status());
  const Index before = server.raft->applied_index();
  EXPECT_EQ(propose(*server.raft, "fail:no").status(), failed_precondition("no"));
  EXPECT_EQ(server.raft->applied_index(), before + 1);
}

TEST(Raft, AReadIndexComesAfterWhatWasWrittenBefore) {
  FaultFileSystem files(1);
  Server server(files, options());
  ASSERT_EQ(server.start(), ok_status());
  for (int i = 0; i < 50; ++i) server.raft->propose("x", SteadyTime::max(), [](Result<Applied>) {});
  const Index written = propose(*server.raft, "y")->index;
  Answer<Result<Index>> read;
  server.raft->read_index(SteadyTime::max(), read.callback());
  EXPECT_EQ(*read.get(), written);
  EXPECT_EQ(server.machine.commands().size(), 51u);
  EXPECT_EQ(server.raft->last_index(), written) << "a read writes nothing";
}

TEST(Raft, AReadWaitsUntilTheStateHasCaughtUp) {
  FaultFileSystem files(1);
  Server server(files, options());
  ASSERT_EQ(server.start(), ok_status());
  server.machine.block();
  Answer<Result<Applied>> write;
  server.raft->propose("w", SteadyTime::max(), write.callback());
  server.machine.await_blocked();
  Answer<Result<Index>> hasty;
  server.raft->read_index(in(milliseconds(20)), hasty.callback());
  EXPECT_EQ(hasty.get().status().code(), Code::deadline_exceeded);
  Answer<Result<Index>> read;
  server.raft->read_index(SteadyTime::max(), read.callback());
  server.machine.unblock();
  EXPECT_EQ(*read.get(), write.get()->index);
}

TEST(Raft, ARestartKeepsEverythingAndIsANewTerm) {
  FaultFileSystem files(1);
  ClusterId cluster;
  NodeId node;
  Term term = 0;
  for (int run = 0; run < 5; ++run) {
    Server server(files, options());
    ASSERT_EQ(server.start(), ok_status());
    EXPECT_GT(server.raft->term(), term);
    term = server.raft->term();
    if (run == 0) {
      cluster = server.raft->cluster_id();
      node = server.raft->node_id();
    }
    EXPECT_EQ(server.raft->cluster_id(), cluster);
    EXPECT_EQ(server.raft->node_id(), node);
    EXPECT_EQ(server.machine.commands().size(), static_cast<size_t>(run)) << "leadership comes after recovery";
    ASSERT_TRUE(propose(*server.raft, "run " + std::to_string(run)).ok());
    const Membership membership = server.raft->membership();
    ASSERT_EQ(membership.members.size(), 1u);
    EXPECT_EQ(membership.members[0].id, node);
  }
}

TEST(Raft, FollowsAChangeOfAddress) {
  FaultFileSystem files(1);
  {
    Server server(files, options());
    ASSERT_EQ(server.start(), ok_status());
  }
  Options moved = options();
  moved.address = "10.0.0.1:4647";
  {
    Server server(files, moved);
    ASSERT_EQ(server.start(), ok_status());
  }
  Server server(files, moved);
  ASSERT_EQ(server.start(), ok_status());
  EXPECT_EQ(server.raft->membership().members[0].address, "10.0.0.1:4647");
}

TEST(Raft, StartsFromASnapshotAndTheLogBehindIt) {
  FaultFileSystem files(1);
  Options with = options();
  with.snapshot_trail_bytes = 8 << 10;
  std::vector<std::string> expected;
  {
    Server server(files, with);
    ASSERT_EQ(server.start(), ok_status());
    for (int i = 0; i < 200; ++i) {
      expected.push_back(std::string(2000, 'x') + std::to_string(i));
      ASSERT_TRUE(propose(*server.raft, expected.back()).ok());
    }
    const Result<SnapshotInfo> info = take_snapshot(*server.raft);
    ASSERT_TRUE(info.ok()) << info.status().to_string();
    EXPECT_EQ(info->index, server.raft->applied_index());
    EXPECT_EQ(take_snapshot(*server.raft)->index, info->index) << "nothing new: the same one";
    EXPECT_EQ(server.raft->stats().snapshots_taken, 1u);
    EXPECT_TRUE(eventually([&] { return server.raft->stats().first_index > 150; }));
    expected.push_back("behind the snapshot");
    ASSERT_TRUE(propose(*server.raft, expected.back()).ok());
    EXPECT_TRUE(eventually([&] { return server.raft->stats().log.segments < 5; }));
  }
  Server server(files, with);
  ASSERT_EQ(server.start(), ok_status());
  EXPECT_EQ(server.machine.commands(), expected);
  EXPECT_EQ(server.raft->membership().members.size(), 1u);
}

TEST(Raft, TakesSnapshotsByItselfAndKeepsTwo) {
  FaultFileSystem files(1);
  Options with = options();
  with.snapshot_threshold_bytes = 10 << 10;
  with.snapshot_trail_bytes = 1 << 10;
  size_t count = 0;
  {
    Server server(files, with);
    ASSERT_EQ(server.start(), ok_status());
    for (; server.raft->stats().snapshots_taken < 5; ++count) {
      ASSERT_TRUE(propose(*server.raft, std::string(500, 'x')).ok());
    }
    EXPECT_EQ(server.raft->stats().snapshots_kept, 2u);
  }
  Server server(files, with);
  ASSERT_EQ(server.start(), ok_status());
  EXPECT_EQ(server.machine.commands().size(), count);
}

TEST(Raft, UsesAnOlderSnapshotOnlyWhenTheLogConnects) {
  for (const uint64_t trail : {uint64_t{1} << 20, uint64_t{1}}) {
    SCOPED_TRACE(trail);
    FaultFileSystem files(1);
    Options with = options();
    with.snapshot_trail_bytes = trail;
    Index newest = 0;
    {
      Server server(files, with);
      ASSERT_EQ(server.start(), ok_status());
      for (int round = 0; round < 2; ++round) {
        for (int i = 0; i < 20; ++i) ASSERT_TRUE(propose(*server.raft, std::string(5000, 'x')).ok());
        newest = take_snapshot(*server.raft)->index;
      }
      if (trail == 1) {
        ASSERT_TRUE(eventually([&] { return server.raft->stats().first_index >= newest; }));
      }
      ASSERT_TRUE(propose(*server.raft, "z").ok());
    }
    for (const std::string& path : files.paths()) {
      if (path.find(std::to_string(newest) + "-") == std::string::npos || !path.ends_with("/data")) continue;
      std::string bytes = files.content(path);
      bytes[5000] = static_cast<char>(bytes[5000] ^ 1);
      files.set_content(path, bytes);
    }
    Server server(files, with);
    if (trail == 1) {
      const Status status = server.raft->start();
      EXPECT_EQ(status.code(), Code::data_loss) << status.to_string();
      EXPECT_NE(status.message().find("/data: offset 16: a chunk is damaged"), std::string::npos) << status.message();
    } else {
      ASSERT_EQ(server.start(), ok_status());
      EXPECT_EQ(server.machine.commands().size(), 41u);
    }
  }
}

TEST(Raft, AFailedSnapshotChangesNothing) {
  FaultFileSystem files(1);
  Server server(files, options());
  ASSERT_EQ(server.start(), ok_status());
  ASSERT_TRUE(propose(*server.raft, "a").ok());
  files.fail_syncs("/part-", EIO);
  EXPECT_NE(take_snapshot(*server.raft).status().message().find("fdatasync /raft/part-"), std::string::npos);
  files.fail_syncs("", 0);
  EXPECT_TRUE(propose(*server.raft, "b").ok());
  EXPECT_TRUE(take_snapshot(*server.raft).ok());
  EXPECT_EQ(server.raft->stats().snapshots_failed, 1u);
}

TEST(Raft, RefusesWhatIsTooLargeOrTooMuch) {
  FaultFileSystem files(1);
  Options with = options();
  with.max_entry_bytes = 1000;
  with.max_unapplied_bytes = 3500;  // three entries are less, four are more
  Server server(files, with);
  ASSERT_EQ(server.start(), ok_status());
  const Status large = propose(*server.raft, std::string(1001, 'x')).status();
  EXPECT_EQ(large, resource_exhausted("the command has 1001 bytes, max_entry_bytes is 1000"));
  EXPECT_TRUE(propose(*server.raft, std::string(1000, 'x')).ok());

  server.machine.block();
  std::vector<Answer<Result<Applied>>> open(4);
  for (auto& answer : open) server.raft->propose(std::string(1000, 'x'), SteadyTime::max(), answer.callback());
  server.machine.await_blocked();
  ASSERT_TRUE(eventually([&] { return server.raft->stats().unapplied_bytes > 3500; }));
  EXPECT_EQ(propose(*server.raft, "x").status().code(), Code::resource_exhausted);
  EXPECT_EQ(server.raft->stats().proposals_backlog, 1u);
  server.machine.unblock();
  for (auto& answer : open) EXPECT_TRUE(answer.get().ok());
  ASSERT_TRUE(propose(*server.raft, "x").ok());
  EXPECT_EQ(server.raft->stats().unapplied_bytes, 0u);
  EXPECT_EQ(server.raft->stats().uncommitted_bytes, 0u);
}

TEST(Raft, ADeadlineInTheLogIsUncertainNotFailed) {
  FaultFileSystem files(1);
  Server server(files, options());
  ASSERT_EQ(server.start(), ok_status());
  EXPECT_EQ(propose(*server.raft, "late", in(milliseconds(-1))).status().code(), Code::deadline_exceeded);

  server.machine.block();
  server.raft->propose("blocks", SteadyTime::max(), [](Result<Applied>) {});
  server.machine.await_blocked();
  const Status status = propose(*server.raft, "uncertain", in(milliseconds(10))).status();
  EXPECT_EQ(status.code(), Code::deadline_exceeded);
  EXPECT_NE(status.message().find("may or may not"), std::string::npos);
  server.machine.unblock();
  ASSERT_TRUE(propose(*server.raft, "end").ok());
  EXPECT_EQ(server.machine.commands(), (std::vector<std::string>{"blocks", "uncertain", "end"}));
}

TEST(Raft, RefusesBeforeStartAndAfterStop) {
  FaultFileSystem files(1);
  Server server(files, options());
  EXPECT_EQ(propose(*server.raft, "a").status().code(), Code::unavailable);
  EXPECT_EQ(take_snapshot(*server.raft).status().code(), Code::unavailable);
  ASSERT_EQ(server.start(), ok_status());
  EXPECT_FALSE(server.until.stop_requested());
  server.raft->stop();
  server.raft->stop();
  EXPECT_TRUE(server.until.stop_requested());
  EXPECT_EQ(server.raft->role(), Role::follower);
  EXPECT_TRUE(server.raft->leader_hint().address.empty());
  EXPECT_EQ(propose(*server.raft, "a").status().code(), Code::unavailable);
  Answer<Result<Index>> read;
  server.raft->read_index(SteadyTime::max(), read.callback());
  EXPECT_EQ(read.get().status().code(), Code::unavailable);
}

TEST(Raft, RefusesWhatWasDecidedInAnotherTerm) {
  FaultFileSystem files(1);
  {
    Server server(files, options());
    ASSERT_EQ(server.start(), ok_status());
  }
  Server server(files, options());
  ASSERT_EQ(server.start(), ok_status());
  const Term term = server.raft->term();
  Answer<Result<Applied>> stale;
  server.raft->propose("x", SteadyTime::max(), stale.callback(), term - 1);
  EXPECT_EQ(stale.get().status().code(), Code::aborted);
  Answer<Result<Applied>> current;
  server.raft->propose("x", SteadyTime::max(), current.callback(), term);
  EXPECT_TRUE(current.get().ok());
}

TEST(Raft, CallsALateSubscriberToo) {
  FaultFileSystem files(1);
  Server server(files, options());
  ASSERT_EQ(server.start(), ok_status());
  Answer<Term> answer;
  server.raft->subscribe_leadership([call = answer.callback()](Term term, std::stop_token) { call(term); });
  EXPECT_EQ(answer.get(), server.raft->term());
}

TEST(Raft, SaysWhyTheMembershipCannotChange) {
  FaultFileSystem files(1);
  Server server(files, options());
  ASSERT_EQ(server.start(), ok_status());
  const auto remove = [&](NodeId id) {
    Answer<Status> answer;
    const MemberEdit edit{.kind = MemberEdit::Kind::remove, .id = id};
    server.raft->change_membership({edit}, SteadyTime::max(), answer.callback());
    return answer.get();
  };
  const Status last = remove(server.raft->node_id());
  EXPECT_EQ(last.code(), Code::invalid_argument);
  EXPECT_NE(last.message().find("last voter"), std::string::npos) << last.message();
  EXPECT_EQ(remove(Uuid::random()).code(), Code::invalid_argument);
}

TEST(Raft, StopAppliesWhatWasAcceptedAndAnswersEveryoneOnce) {
  FaultFileSystem files(1);
  std::atomic<int> applied = 0;
  std::atomic<int> refused = 0;
  constexpr int kThreads = 4;
  constexpr int kEach = 500;
  {
    Server server(files, options());
    ASSERT_EQ(server.start(), ok_status());
    std::vector<std::thread> threads;
    for (int t = 0; t < kThreads; ++t) {
      threads.emplace_back([&] {
        for (int i = 0; i < kEach; ++i) {
          server.raft->propose("x", SteadyTime::max(), [&](Result<Applied> result) {
            ++(result.ok() ? applied : refused);
            EXPECT_TRUE(result.ok() || result.status().code() == Code::unavailable) << result.status().to_string();
          });
        }
      });
    }
    ASSERT_TRUE(eventually([&] { return applied > 100; }));
    server.raft->stop();
    for (auto& thread : threads) thread.join();
    EXPECT_EQ(applied + refused, kThreads * kEach);
    EXPECT_EQ(server.machine.commands().size(), static_cast<size_t>(applied));
  }
  Server server(files, options());
  ASSERT_EQ(server.start(), ok_status());
  EXPECT_EQ(server.machine.commands().size(), static_cast<size_t>(applied));
}

// A server whose loops take their steps when the test says so.
class SteppedServer : public Clock, private Transport {
 public:
  SteppedServer() {
    Options all = options();
    all.bootstrap_alone = true;
    raft = make_stepped(std::move(all), machine, files, *this, *this);
    EXPECT_EQ(raft->start(), ok_status());
    settle();
  }
  int64_t wall_ns() const override { return 0; }
  SteadyTime steady() const override { return now; }
  void settle() {
    while (raft->step_raft() || raft->step_log(SegmentLog::Idle::nothing) || raft->step_apply()) {
    }
  }
  void propose() {
    raft->propose("x", SteadyTime::max(), [this](const Result<Applied>& applied) { answered += applied.ok() ? 1 : 0; });
  }

  FaultFileSystem files{1};
  Journal machine;
  SteadyTime now{};
  std::unique_ptr<Stepped> raft;
  int answered = 0;

 private:
  void start(const Member&, PeerEvents&) override {}
  void stop() override {}
  void set_peers(ClusterId, std::vector<Member>) override {}
  void send(Message) override {}
  void send_bulk(BulkMessage) override {}
};

TEST(Raft, WhatIsProposedWhileAWriteIsOutSharesTheNext) {
  SteppedServer server;
  ASSERT_EQ(server.raft->role(), Role::leader);
  const Index before = server.raft->last_index();
  server.propose();
  server.raft->step_raft();
  EXPECT_EQ(server.raft->last_index(), before + 1) << "a single one waits for nothing";
  server.propose();
  server.propose();
  server.raft->step_raft();
  EXPECT_EQ(server.raft->last_index(), before + 1);

  const uint64_t writes = server.raft->stats().log.batches;
  server.settle();
  EXPECT_EQ(server.answered, 3);
  EXPECT_EQ(server.raft->last_index(), before + 3);
  EXPECT_EQ(server.raft->stats().log.batches, writes + 2);
}

TEST(Raft, AProposalDoesNotWaitLongForADiskThatIsSlowerThanOthers) {
  SteppedServer server;
  const Index before = server.raft->last_index();
  server.propose();
  server.raft->step_raft();
  server.propose();
  server.now += milliseconds(1);
  server.raft->step_raft();
  EXPECT_EQ(server.raft->last_index(), before + 2) << "others may have it long before this disk";
  server.settle();
  EXPECT_EQ(server.answered, 2);
}

TEST(Raft, AProposalCutOffByABrokenDiskIsUncertain) {
  FaultFileSystem files(1);
  Server server(files, options());
  ASSERT_EQ(server.start(), ok_status());
  files.fail_writes("seg-", EIO);
  Answer<Result<Applied>> answer;
  server.raft->propose("x", SteadyTime::max(), answer.callback());
  server.raft->stop();
  EXPECT_EQ(answer.get().status().code(), Code::deadline_exceeded);
  EXPECT_TRUE(server.machine.commands().empty());
}

TEST(Raft, ServesOnARealDiskBeforeItHasWrittenMuch) {
  TempFolder folder;
  const auto files = make_file_system();
  Options with = options(folder.path() + "/raft");
  with.log = SegmentLogOptions();
  {
    Server server(*files, with);
    ASSERT_EQ(server.start(), ok_status());
    ASSERT_TRUE(propose(*server.raft, "a").ok());
    EXPECT_LE(server.raft->stats().log.spare_segments, 0u);
    uint64_t bytes = 0;
    for (const auto& file : std::filesystem::recursive_directory_iterator(folder.path())) {
      if (file.is_regular_file()) bytes += file.file_size();
    }
    EXPECT_LT(bytes, uint64_t{2} << 20);
    Server second(*files, with);
    EXPECT_EQ(second.raft->start().code(), Code::failed_precondition);
    ASSERT_TRUE(take_snapshot(*server.raft).ok());
    ASSERT_TRUE(propose(*server.raft, "b").ok());
  }
  Server server(*files, with);
  ASSERT_EQ(server.start(), ok_status());
  EXPECT_EQ(server.machine.commands(), (std::vector<std::string>{"a", "b"}));
}

struct Text final : SnapshotSource {
  explicit Text(std::string t) : text(std::move(t)) {}
  Index index() override { return 7; }
  Status write(ByteSink& sink) override { return sink.write(text); }
  std::string text;
};

TEST(SnapshotStore, AnyFlippedByteIsFound) {
  FaultFileSystem files(1);
  ASSERT_EQ(files.make_directory("/raft"), ok_status());
  auto store = SnapshotStore::open(files, "/raft");
  ASSERT_TRUE(store.ok());
  Text source("some state of a store");
  const Membership membership{.index = 3, .members = {{.id = Uuid::random(), .address = "here"}}};
  const auto saved = (*store)->save(7, 2, membership, source, [] { return false; });
  ASSERT_TRUE(saved.ok()) << saved.status().to_string();
  const auto whole = (*store)->verify(*saved);
  ASSERT_TRUE(whole.ok()) << whole.status().to_string();
  EXPECT_EQ(whole->membership, membership);
  EXPECT_EQ(whole->bytes, 21u);
  for (const std::string& path : files.paths()) {
    const std::string good = files.content(path);
    for (size_t at = 0; at < good.size(); ++at) {
      if (path.ends_with("/data") && at >= 12 && at < 16) continue;  // reserved
      std::string bad = good;
      bad[at] = static_cast<char>(bad[at] ^ 0x10);
      files.set_content(path, bad);
      EXPECT_FALSE((*store)->verify(*saved).ok()) << path << " offset " << at;
    }
    files.set_content(path, good.substr(0, good.size() - 1));
    EXPECT_FALSE((*store)->verify(*saved).ok()) << path << " shortened";
    files.set_content(path, good + "x");
    EXPECT_FALSE((*store)->verify(*saved).ok()) << path << " lengthened";
    files.set_content(path, good);
  }
}

TEST(SnapshotStore, RemovesWhatAnUnfinishedSaveLeft) {
  FaultFileSystem files(1);
  ASSERT_EQ(files.make_directory("/raft"), ok_status());
  ASSERT_EQ(files.make_directory("/raft/part-1-1"), ok_status());
  files.set_content("/raft/part-1-1/data", "half");
  auto store = SnapshotStore::open(files, "/raft");
  ASSERT_TRUE(store.ok());
  EXPECT_TRUE(files.paths().empty());
  EXPECT_TRUE((*store)->list().empty());
}

// The places of `text` in any file of the disk.
size_t rot_where_it_says(FaultFileSystem& files, const std::string& text) {
  size_t rotten = 0;
  for (const std::string& path : files.paths()) {
    const size_t at = files.content(path).find(text);
    if (at != std::string::npos) rotten += files.flip_bit(path, at, 0);
  }
  return rotten;
}

TEST(Scrub, FindsWhatTheDiskNoLongerHoldsWhileTheServerWorks) {
  FaultFileSystem files(1);
  Options often = options();
  often.scrub_interval = milliseconds(1);
  often.scrub_rate_bytes = 1 << 30;
  Server server(files, often);
  ASSERT_EQ(server.start(), ok_status());
  for (int i = 0; i < 40; ++i) ASSERT_TRUE(propose(*server.raft, "value " + std::to_string(i)).ok());
  const auto rounds = [&] { return server.raft->stats().scrub_rounds; };
  const uint64_t before = rounds();
  ASSERT_TRUE(eventually([&] { return rounds() > before + 1; }));
  EXPECT_EQ(server.raft->stats().scrub_errors, 0u);
  EXPECT_FALSE(server.raft->stats().is_rotten);

  ASSERT_EQ(rot_where_it_says(files, "value 7"), 1u);

  ASSERT_TRUE(eventually([&] { return server.raft->stats().is_rotten; }));
  EXPECT_GE(server.raft->stats().scrub_errors, 1u);
  EXPECT_TRUE(propose(*server.raft, "more").ok());
}

TEST(Scrub, ReadsSnapshotsToo) {
  FaultFileSystem files(1);
  Options often = options();
  often.scrub_interval = milliseconds(1);
  often.scrub_rate_bytes = 1 << 30;
  often.snapshot_trail_bytes = 0;
  Server server(files, often);
  ASSERT_EQ(server.start(), ok_status());
  ASSERT_TRUE(propose(*server.raft, "only in the snapshot").ok());
  const Result<SnapshotInfo> snapshot = take_snapshot(*server.raft);
  ASSERT_TRUE(snapshot.ok()) << snapshot.status().message();
  const std::vector<std::string> paths = files.paths();
  const auto data = std::ranges::find_if(paths, [](const std::string& path) { return path.ends_with("/data"); });
  ASSERT_NE(data, paths.end());

  ASSERT_TRUE(files.flip_bit(*data, files.content(*data).size() - 1, 0));

  EXPECT_TRUE(eventually([&] { return server.raft->stats().is_rotten; }));
}

}  // namespace
}  // namespace drover::raft
