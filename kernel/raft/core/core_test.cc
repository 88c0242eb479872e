// Cases that scripts cannot express: how the process ends on corruption, what one batch of inputs costs, odd restarts.
#include "kernel/raft/core/core.h"

#include "gtest/gtest.h"
#include "kernel/raft/core/test_support.h"

namespace drover::raft {
namespace {

Core follower() { return Core({.id = id_of(2)}, {.memberships = {members_of(3)}}); }

Message append_of(int from, Term term, Index prev, Term prev_term, std::vector<Entry> entries = {}) {
  return {.type = MessageType::append,
          .from = id_of(from),
          .to = id_of(2),
          .term = term,
          .log_index = prev,
          .log_term = prev_term,
          .entries = std::move(entries)};
}

Entry entry(Index index, Term term) { return {.index = index, .term = term, .type = EntryType::command}; }

using RaftCoreDeathTest = testing::Test;

TEST(RaftCoreDeathTest, TwoLeadersInOneTermEndTheProcessWithBothNames) {
  Core core = follower();
  core.step(Receive{append_of(1, 1, 0, 0)});

  EXPECT_DEATH(core.step(Receive{append_of(3, 1, 0, 0)}), "two leaders in term 1: 01000000-.* and 03000000-");
}

TEST(RaftCoreDeathTest, ACommittedEntryIsNeverReplaced) {
  Core core = follower();
  Message first = append_of(1, 1, 0, 0, {entry(1, 1), entry(2, 1)});
  first.commit = 2;
  core.step(Receive{std::move(first)});

  EXPECT_DEATH(core.step(Receive{append_of(3, 2, 1, 1, {entry(2, 2)})}), "check failed");
}

TEST(RaftCoreDeathTest, ASnapshotAheadOfTheOwnDiskIsRefused) {
  Core core = follower();
  Message first = append_of(1, 1, 0, 0, {entry(1, 1)});
  first.commit = 1;
  core.step(Receive{std::move(first)});
  core.take_effects();

  EXPECT_DEATH(core.step(SnapshotTaken{.index = 1, .term = 1, .first_index = 1}), "check failed");
}

TEST(RaftCore, ABatchOfProposalsIsOneWriteAndOneMessageAPeer) {
  Cluster cluster;
  for (int i = 1; i <= 3; ++i) cluster.add(i, {.seed = static_cast<uint64_t>(i)}, members_of(3));
  cluster.step(1, Campaign{});
  cluster.settle();
  Core& leader = *cluster.servers.at(1).core;
  Propose propose;
  for (uint64_t token = 1; token <= 500; ++token) propose.batch.push_back({.token = token, .payload = text("x")});

  leader.step(std::move(propose));
  const Effects effects = leader.take_effects();

  ASSERT_TRUE(effects.write);
  EXPECT_EQ(effects.write->entries.size(), 500u);
  ASSERT_EQ(effects.send.size(), 2u);
  EXPECT_EQ(effects.send[0].entries.size(), 500u);
  EXPECT_EQ(effects.send[0].entries[7].payload.get(), effects.write->entries[7].payload.get()) << "shared, not copied";
  EXPECT_FALSE(leader.take_effects().write) << "nothing is left over";
}

TEST(RaftCore, AppendsOfOneDrainAreAnsweredOnce) {
  Core core = follower();
  core.step(Receive{append_of(1, 1, 0, 0, {entry(1, 1)})});
  core.step(Receive{append_of(1, 1, 1, 1, {entry(2, 1)})});
  EXPECT_TRUE(core.take_effects().send.empty());

  core.step(LogDurable{.write_seq = 1});
  const Effects effects = core.take_effects();

  ASSERT_EQ(effects.send.size(), 1u);
  EXPECT_EQ(effects.send[0].log_index, 2u);
}

TEST(RaftCore, ASnapshotNewerThanLogAndTermStartsTheLogOver) {
  TermRuns runs;
  runs.append(1, 1);
  runs.append(2, 1);
  Membership later = members_of(2);
  later.index = 2;
  Membership of_snapshot = members_of(3);
  of_snapshot.index = 1;

  Core core({.id = id_of(2)}, {.hard_state = {.term = 1, .vote = id_of(1)},
                               .snapshot_index = 9,
                               .snapshot_term = 4,
                               .terms = runs,
                               .memberships = {of_snapshot, later},
                               .write_seq = 5});
  const Effects effects = core.take_effects();

  EXPECT_EQ(core.status().term, 4u);
  EXPECT_TRUE(core.status().vote.is_zero());
  EXPECT_EQ(core.status().last_index, 9u);
  ASSERT_TRUE(effects.write);
  EXPECT_EQ(effects.write->write_seq, 6u);
  EXPECT_TRUE(effects.write->start_over);
  EXPECT_EQ(effects.write->first_index, 10u);
  EXPECT_EQ(effects.write->hard_state->term, 4u);
  core.check();
}

TEST(RaftCore, InputsForStrangersAreIgnored) {
  Core core = follower();

  core.step(EntriesRead{.to = id_of(9), .from = 4});
  core.step(SnapshotSent{.to = id_of(9), .index = 4, .is_ok = true});
  core.step(SnapshotInstalled{.index = 4});
  core.step(LogDurable{.write_seq = 99});
  core.step(PeerUnreachable{.peer = id_of(9)});
  core.step(PeerReconnected{.peer = id_of(9)});
  core.check();

  const Effects effects = core.take_effects();
  EXPECT_FALSE(effects.write);
  EXPECT_TRUE(effects.send.empty());
  EXPECT_EQ(core.status().durable_index, 0u);
}

}  // namespace
}  // namespace drover::raft
