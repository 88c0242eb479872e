#include "kernel/raft/watchdog.h"

#include <gtest/gtest.h>

#include <functional>

namespace drover::raft {
namespace {

using namespace std::chrono_literals;

const NodeId kOther = Uuid::from_bytes("0123456789abcdef");

Vitals leader() {
  Vitals vitals{.leads = true, .is_ready = true, .term = 3, .last = 40, .durable = 40, .commit = 40, .applied = 40};
  vitals.peers.push_back({.id = kOther, .match = 40, .since_contact = 1s, .is_reached = true});
  return vitals;
}

// Returns the findings of so many seconds, each with its second; `change` makes each second's vitals.
std::vector<std::string> found(int seconds, const std::function<void(int second, Vitals&)>& change) {
  Watchdog watchdog;
  std::vector<std::string> found;
  for (int second = 0; second <= seconds; ++second) {
    Vitals now = leader();
    now.ticks = static_cast<uint64_t>(second);
    change(second, now);
    for (const Finding& finding : watchdog.look(now, SteadyTime(1h) + std::chrono::seconds(second))) {
      found.push_back(std::to_string(second) + ": " + finding.sentence + " | " + finding.waits_for +
                      (finding.renew.is_zero() ? "" : " | renew"));
    }
  }
  return found;
}

using Lines = std::vector<std::string>;

TEST(RaftWatchdog, FindsNothingWhereAllMoves) {
  EXPECT_EQ(found(60, [](int, Vitals&) {}), Lines());
  EXPECT_EQ(found(60,
                  [](int second, Vitals& now) {
                    now.last = now.durable = now.commit = 40 + static_cast<Index>(second) * 10;
                    now.applied = now.commit - 1;
                    now.peers[0].match = now.commit - 5;
                  }),
            Lines())
      << "behind, but moving";
}

TEST(RaftWatchdog, SaysWhatALeaderWaitsForThatDoesNotServe) {
  struct Case {
    const char* name;
    std::function<void(Vitals&)> change;
    std::string waits_for;
  };
  const std::string id = kOther.to_string();
  const std::vector<Case> cases = {
      {"disk", [](Vitals& now) { now.durable = now.commit = now.applied = 39; },
       "the disk of this server, at 39 of 40"},
      {"others",
       [](Vitals& now) {
         now.commit = now.applied = 39;
         now.peers[0].match = 38;
         now.peers[0].is_reached = false;
       },
       "other servers: " + id + " at 38 of 40, not heard"},
      {"alone", [](Vitals& now) { now.commit = now.applied = 39, now.peers.clear(); }, "other servers: none is known"},
      {"loop", [](Vitals&) {}, "the consensus loop"}};
  for (const Case& c : cases) {
    SCOPED_TRACE(c.name);
    const auto lines = found(20, [&](int, Vitals& now) {
      now.is_ready = false;
      c.change(now);
    });
    ASSERT_FALSE(lines.empty());
    EXPECT_EQ(lines.front(), "10: this server leads and does not come to serve | " + c.waits_for);
  }
}

TEST(RaftWatchdog, ANewTermIsGivenItsTime) {
  EXPECT_EQ(found(30,
                  [](int second, Vitals& now) {
                    now.is_ready = false;
                    now.term = static_cast<Term>(3 + second / 9);
                  }),
            Lines());
}

TEST(RaftWatchdog, ALoopThatDoesNotTickStandsStill) {
  EXPECT_EQ(found(20, [](int, Vitals& now) { now.ticks = 7; }),
            (Lines{"10: consensus stands still | the consensus loop: it does not tick",
                   "20: consensus stands still | the consensus loop: it does not tick"}));
}

TEST(RaftWatchdog, AStateThatDoesNotMoveIsNoticed) {
  EXPECT_EQ(found(10, [](int, Vitals& now) { now.applied = 30; }),
            Lines{"10: committed entries are not applied | the state, at 30 of 40"});
}

TEST(RaftWatchdog, AServerThatIsHeardAndDoesNotFollowGetsANewStream) {
  const auto behind = [](int, Vitals& now) { now.peers[0].match = 12; };
  const std::string line =
      ": a server is heard and does not follow; its stream of entries is opened anew | the server " +
      kOther.to_string() + ", at 12 of 40 | renew";
  EXPECT_EQ(found(20, behind), (Lines{"10" + line, "20" + line}));
  EXPECT_EQ(found(20,
                  [&](int second, Vitals& now) {
                    behind(second, now);
                    now.peers[0].since_contact = 8s;
                  }),
            Lines())
      << "silence is no standstill";
  EXPECT_EQ(found(20,
                  [&](int second, Vitals& now) {
                    behind(second, now);
                    now.leads = now.is_ready = second % 8 != 0;
                  }),
            Lines())
      << "the time begins anew with each leadership";
}

}  // namespace
}  // namespace drover::raft
