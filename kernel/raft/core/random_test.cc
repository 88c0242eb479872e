// Thousands of random events on a few cores: losses, repetitions, reordering, crashes that lose what was not durable,
// snapshots, transfers, membership changes. The properties of Raft's figure 3.2 are watched all along, and at the end,
// when everything is well again, the cluster must come to rest with one leader and no open question.
#include <random>

#include "gtest/gtest.h"
#include "kernel/raft/core/test_support.h"

namespace drover::raft {
namespace {

class RandomRun {
 public:
  explicit RandomRun(uint64_t seed) : random_(seed) {
    const int voters = pick({1, 2, 3, 3, 3, 4, 5});
    const int learners = pick({0, 0, 1});
    last_server_ = voters + learners + pick({0, 1});
    has_lease_ = chance(25);
    has_crashes_ = chance(60);
    has_changes_ = chance(50);
    has_cuts_ = chance(50);
    has_damage_ = voters >= 3 && !has_changes_ && chance(30);
    is_fifo_ = chance(40);
    loss_ = pick({0, 0, 5, 20});
    ticks_ = has_lease_ ? pick({3, 6}) : pick({6, 12, 25});
    slow_disk_ = pick({2, 10, 10});
    CoreConfig config{.seed = seed,
                      .election_ticks = pick({4, 10}),
                      .append_bytes = static_cast<uint64_t>(pick({1, 200, 1 << 20})),
                      .window_messages = static_cast<size_t>(pick({1, 3, 256})),
                      .max_uncommitted_bytes = static_cast<uint64_t>(pick({40, 1 << 20})),
                      .recent_bytes = static_cast<uint64_t>(pick({0, 300, 1 << 20})),
                      .lease_reads = has_lease_};
    election_ticks_ = config.election_ticks;
    for (int i = 1; i <= last_server_; ++i) {
      config.seed += 1000;
      cluster_.add(i, config, i <= voters + learners ? members_of(voters, learners) : Membership{});
    }
    cluster_.trace = [this](int number, const Effects& effects) { digest(number, effects); };
  }

  // Returns the failure; empty: none.
  std::string run(int events) {
    for (int i = 0; i < events && cluster_.violation.empty(); ++i) {
      one_event();
      if (i % 50 == 0) cluster_.check();
    }
    return cluster_.violation.empty() ? come_to_rest() : cluster_.violation;
  }
  uint64_t fingerprint() const { return fingerprint_; }

 private:
  int pick(std::vector<int> choices) { return choices[random_() % choices.size()]; }
  bool chance(int percent) { return static_cast<int>(random_() % 100) < percent; }
  int any_server() { return 1 + static_cast<int>(random_() % static_cast<uint64_t>(last_server_)); }

  void digest(int number, const Effects& effects) {
    if (std::getenv("RAFT_TRACE")) {
      for (const std::string& line : raft::describe(number, effects, Detail::all))
        std::fprintf(stderr, "%s\n", line.c_str());
    }
    for (const Message& m : effects.send) {
      const uint64_t what = static_cast<uint64_t>(m.type) + m.term * 31 + m.log_index * 1009 + m.commit * 65537 +
                            static_cast<uint64_t>(number) * 7 + m.entries.size();
      fingerprint_ = (fingerprint_ ^ what) * 0x100000001b3;
    }
  }

  void one_event() {
    const int n = any_server();
    if (!cluster_.is_up(n) && chance(10)) return cluster_.start(n);
    if (!cluster_.network.empty() && chance(70)) return network_event(pick({1, 2, 5}));
    const int what = static_cast<int>(random_() % 100);
    if (what < ticks_) return tick(n);
    if (what < 45) return cluster_.confirm(n, chance(slow_disk_ * 5) ? SIZE_MAX : 1);
    if (what < 60) return cluster_.apply(n);
    if (what < 75) {
      const std::string payload = "p" + std::to_string(++payloads_) + std::string(random_() % 60, '.');
      cluster_.propose(chance(80) && cluster_.leader() != 0 ? cluster_.leader() : n, payload);
      return;
    }
    if (what < 80) return void(cluster_.read(n));
    if (what < 84) return cluster_.answer_log_read(n);
    if (what < 88) return snapshot_event(n);
    rare_event(n);
  }

  // With leases all clocks run alike; without, at any rates.
  void tick(int n) {
    cluster_.now += std::chrono::milliseconds(100);
    for (int i = 1; i <= last_server_; ++i) {
      if (has_lease_ || i == n) cluster_.step(i, Tick{.now = cluster_.now});
    }
  }

  void network_event(int messages) {
    for (; messages > 0 && !cluster_.network.empty(); --messages) {
      const size_t at = is_fifo_ ? 0 : random_() % std::min<size_t>(cluster_.network.size(), 20);
      if (chance(loss_)) {
        cluster_.network.erase(cluster_.network.begin() + static_cast<ptrdiff_t>(at));
        continue;
      }
      if (chance(loss_ / 2)) cluster_.network.push_back(cluster_.network[at]);
      cluster_.deliver(at);
    }
  }

  void snapshot_event(int n) {
    Server& s = cluster_.servers.at(n);
    if (!s.core) return;
    if (!s.snapshot_sends.empty()) {
      const int to = number_of(s.snapshot_sends.front());
      s.snapshot_sends.pop_front();
      if (chance(70) && s.core->status().role == Role::leader) return cluster_.send_snapshot(n, to);
      return cluster_.step(n, SnapshotSent{.to = id_of(to), .index = 0, .is_ok = false});
    }
    const Index index = std::min(s.applied, s.core->status().durable_index);
    const Index trail = random_() % 6;
    cluster_.take_snapshot(n, index, index > trail ? index + 1 - trail : 1);
  }

  void rare_event(int n) {
    const int what = static_cast<int>(random_() % 30);
    const int leader = cluster_.leader();
    if (what < 3 && has_crashes_) {
      return cluster_.crash(n);
    }
    if (what == 3 && has_cuts_) {
      if (cluster_.cuts.size() > 4 || chance(60)) return cluster_.cuts.clear();
      cluster_.cuts.insert({n, any_server()});
      return;
    }
    if (what == 4 && leader != 0) {
      const uint64_t token = cluster_.new_token(leader);
      return cluster_.step(leader, TransferLeadership{.to = chance(50) ? id_of(n) : NodeId{}, .token = token});
    }
    if (what < 8 && has_changes_ && leader != 0) return change(leader);
    if (what == 8) return cluster_.step(n, StorageSlow{.is_slow = chance(15)});
    if (what == 9) return cluster_.step(n, PeerUnreachable{.peer = id_of(any_server())});
    if (what == 10) return cluster_.step(n, PeerReconnected{.peer = id_of(any_server())});
    if (what == 11 && has_damage_ && !cluster_.is_disk_lost && leader != 0 && chance(40)) damage(n);
  }

  void change(int leader) {
    ChangeMembership change{.token = cluster_.new_token(leader)};
    for (int edits = pick({1, 1, 2, 3}); edits > 0; --edits) {
      const auto kind = static_cast<MemberEdit::Kind>(random_() % 3);
      change.edits.push_back({.kind = kind, .id = id_of(any_server())});
    }
    cluster_.step(leader, std::move(change));
  }

  // Confirmed entries are lost on one server, at a time when nothing is under way.
  void damage(int n) {
    cluster_.settle();
    Server& s = cluster_.servers.at(n);
    if (!s.core || !s.writes.empty() || cluster_.leader() == 0) return;
    cluster_.is_disk_lost = true;
    cluster_.crash(n);
    const Index keep = std::max(s.snapshot.index, s.disk.first - 1) + random_() % 3;
    while (s.disk.last() > keep && !s.disk.entries.empty()) s.disk.entries.pop_back();
    s.is_damaged = true;
    cluster_.start(n);
  }

  // Everything heals; within twenty election timeouts there is one leader, equal logs, no open question.
  std::string come_to_rest() {
    cluster_.cuts.clear();
    for (int i = 1; i <= last_server_; ++i) {
      if (!cluster_.is_up(i)) cluster_.start(i);
      cluster_.step(i, StorageSlow{.is_slow = false});
      for (int other = 1; other <= last_server_; ++other) cluster_.step(i, PeerReconnected{.peer = id_of(other)});
    }
    for (int round = 0; round < 20 * election_ticks_; ++round) {
      cluster_.settle();
      if (!cluster_.violation.empty()) return cluster_.violation;
      if (is_at_rest()) return cluster_.check(), cluster_.violation;
      cluster_.now += std::chrono::milliseconds(100);
      for (int i = 1; i <= last_server_; ++i) cluster_.step(i, Tick{.now = cluster_.now});
    }
    return picture();
  }

  bool is_at_rest() {
    const int leader = cluster_.leader();
    if (leader == 0 || !cluster_.open_tokens.empty() || !cluster_.open_reads.empty()) return false;
    const Core& core = *cluster_.servers.at(leader).core;
    const CoreStatus status = core.status();
    if (status.commit_index < status.last_index || !core.membership().outgoing.empty()) return false;
    if (status.uncommitted_bytes != 0) return false;
    for (const Member& member : core.membership().members) {
      const Server& other = cluster_.servers.at(number_of(member.id));
      const CoreStatus theirs = other.core->status();
      if (theirs.leader != id_of(leader) || other.applied != status.commit_index || theirs.is_damaged) return false;
    }
    return std::ranges::all_of(status.peers, [](const PeerStatus& peer) { return peer.in_flight_bytes == 0; });
  }

  std::string picture() {
    std::string out = "it does not come to rest; leader " + std::to_string(cluster_.leader());
    for (auto& [number, s] : cluster_.servers) {
      const CoreStatus status = s.core->status();
      out += "\n" + std::to_string(number) + ": " + (status.role == Role::leader ? "leader" : "other") + " term " +
             std::to_string(status.term) + " leader " + std::to_string(number_of(status.leader)) + " last " +
             std::to_string(status.last_index) + "/" + std::to_string(status.last_term) + " first " +
             std::to_string(status.first_index) + " durable " + std::to_string(status.durable_index) + " commit " +
             std::to_string(status.commit_index) + " applied " + std::to_string(s.applied) +
             (status.is_damaged ? " damaged" : "") + " members";
      for (const Member& m : s.core->membership().members) {
        out += " " + std::to_string(number_of(m.id)) + (m.suffrage == Suffrage::voter ? "" : "(learner)");
      }
      for (const NodeId& id : s.core->membership().outgoing) out += " -" + std::to_string(number_of(id));
      for (const PeerStatus& peer : status.peers) {
        out += "\n   peer " + std::to_string(number_of(peer.id)) + " state " +
               std::to_string(static_cast<int>(peer.state)) + " match " + std::to_string(peer.match) + " next " +
               std::to_string(peer.next) + " in flight " + std::to_string(peer.in_flight_messages);
      }
    }
    for (const auto& [token, number] : cluster_.open_tokens) {
      out += "\nopen token " + std::to_string(token) + " at " + std::to_string(number);
    }
    return out;
  }

  std::mt19937_64 random_;
  Cluster cluster_;
  int last_server_ = 0;
  int election_ticks_ = 10;
  bool has_lease_ = false, has_crashes_ = false, has_changes_ = false, has_cuts_ = false, has_damage_ = false;
  bool is_fifo_ = false;
  int loss_ = 0;
  int ticks_ = 0;
  int slow_disk_ = 0;
  uint64_t payloads_ = 0;
  uint64_t fingerprint_ = 0xcbf29ce484222325;
};

TEST(RaftRandom, KeepsItsPromisesUnderFaults) {
  const char* from = std::getenv("RAFT_SEED");
  const char* count = std::getenv("RAFT_SEEDS");
  const uint64_t first = from ? std::stoull(from) : 1;
  const uint64_t seeds = count ? std::stoull(count) : from ? 1 : 300;
  for (uint64_t seed = first; seed < first + seeds; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    RandomRun run(seed);

    EXPECT_EQ(run.run(6000), "");
    if (testing::Test::HasFailure()) return;
  }
}

TEST(RaftRandom, IsTheSameRunForTheSameSeed) {
  RandomRun one(77);
  RandomRun two(77);

  EXPECT_EQ(one.run(1500), two.run(1500));
  EXPECT_EQ(one.fingerprint(), two.fingerprint());
  EXPECT_NE(one.fingerprint(), RandomRun(78).fingerprint());
}

}  // namespace

std::string run_at_random(uint64_t seed, int events) { return RandomRun(seed).run(events); }

}  // namespace drover::raft
