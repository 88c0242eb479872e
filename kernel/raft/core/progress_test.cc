#include "kernel/raft/core/progress.h"

#include "gtest/gtest.h"
#include "kernel/raft/core/test_support.h"

namespace drover::raft {
namespace {

Progress replicating(Index match) {
  Progress peer{.id = id_of(2), .match = match, .next = match + 1};
  peer.become_replicate();
  return peer;
}

TEST(Progress, TheWindowIsFullByMessagesOrByBytes) {
  const CoreConfig config{.window_messages = 2, .window_bytes = 100};
  Progress peer = replicating(0);

  peer.sent(3, 10);
  EXPECT_FALSE(peer.is_full(config));
  peer.sent(4, 10);
  EXPECT_TRUE(peer.is_full(config));
  EXPECT_TRUE(peer.accepted(3));
  EXPECT_FALSE(peer.is_full(config));
  peer.sent(9, 90);
  EXPECT_TRUE(peer.is_full(config));
  EXPECT_EQ(peer.next, 10u);
  EXPECT_TRUE(peer.accepted(9));
  EXPECT_EQ(peer.in_flight_bytes, 0u);
  EXPECT_TRUE(peer.in_flight.empty());
}

TEST(Progress, MatchNeverDecreases) {
  Progress peer = replicating(5);

  EXPECT_FALSE(peer.accepted(5));
  EXPECT_FALSE(peer.accepted(3));
  EXPECT_TRUE(peer.accepted(6));

  EXPECT_EQ(peer.match, 6u);
  EXPECT_EQ(peer.next, 7u);
}

TEST(Progress, EveryChangeOfStateEmptiesTheWindow) {
  for (const auto& change : {+[](Progress& p) { p.become_probe(3); }, +[](Progress& p) { p.become_snapshot(); },
                             +[](Progress& p) { p.become_replicate(); }}) {
    Progress peer = replicating(0);
    peer.sent(4, 10);
    peer.is_paused = true;

    change(peer);

    EXPECT_TRUE(peer.in_flight.empty());
    EXPECT_EQ(peer.in_flight_bytes, 0u);
    EXPECT_FALSE(peer.is_paused);
  }
}

TEST(Progress, ARefusalIsStaleWhenLaterNewsIsKnown) {
  struct Case {
    const char* name;
    PeerStatus::State state;
    Index match;
    Index next;
    Index refused;
    bool is_stale;
  };
  const Case cases[] = {
      {"replicate, behind the match", PeerStatus::State::replicate, 5, 9, 5, true},
      {"replicate, in front of it", PeerStatus::State::replicate, 5, 9, 6, false},
      {"probe, the one that is out", PeerStatus::State::probe, 0, 9, 8, false},
      {"probe, another one", PeerStatus::State::probe, 0, 9, 7, true},
      {"probe, at the match", PeerStatus::State::probe, 8, 9, 8, true},
  };
  for (const Case& c : cases) {
    SCOPED_TRACE(c.name);
    const Progress peer{.state = c.state, .match = c.match, .next = c.next};
    EXPECT_EQ(peer.is_stale_refusal(c.refused), c.is_stale);
  }
}

}  // namespace
}  // namespace drover::raft
