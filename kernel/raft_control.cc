#include "kernel/raft_control.h"

#include <time.h>

#include <algorithm>
#include <future>
#include <utility>

namespace drover {
namespace {

constexpr size_t kReadBytes = 256 << 10;

// Starts something and waits for its answer, which comes exactly once, by the deadline.
template <typename Answer, typename Start>
Answer wait_for(Start start) {
  auto promise = std::make_shared<std::promise<Answer>>();
  std::future<Answer> future = promise->get_future();
  start([promise](Answer answer) { promise->set_value(std::move(answer)); });
  return future.get();
}

raft::MemberEdit::Kind kind_of(RaftEdit::Kind kind) {
  switch (kind) {
    case RaftEdit::Kind::add_voter:
      return raft::MemberEdit::Kind::add_voter;
    case RaftEdit::Kind::add_learner:
      return raft::MemberEdit::Kind::add_learner;
    case RaftEdit::Kind::remove:
      break;
  }
  return raft::MemberEdit::Kind::remove;
}

class Control final : public RaftControl {
 public:
  explicit Control(raft::Consensus& consensus) : consensus_(consensus) {}

  Status bootstrap(std::vector<RaftServer> voters) override {
    std::vector<raft::Member> members;
    for (RaftServer& voter : voters) members.push_back({.id = voter.id, .address = std::move(voter.address)});
    return wait_for<Status>([&](auto done) { consensus_.bootstrap(std::move(members), done); });
  }

  Status change_servers(std::vector<RaftEdit> edits, SteadyTime deadline) override {
    std::vector<raft::MemberEdit> changes;
    for (RaftEdit& edit : edits) {
      changes.push_back({.kind = kind_of(edit.kind), .id = edit.id, .address = std::move(edit.address)});
    }
    return wait_for<Status>([&](auto done) { consensus_.change_membership(std::move(changes), deadline, done); });
  }

  Status transfer_leadership(Uuid to, SteadyTime deadline) override {
    return wait_for<Status>([&](auto done) { consensus_.transfer_leadership(to, deadline, done); });
  }

  Result<Snapshot> save_snapshot(bool may_be_stale, const std::function<Status(std::string_view)>& sink,
                                 SteadyTime deadline) override {
    if (!may_be_stale) {
      using Read = Result<raft::Index>;
      DROVER_RETURN_IF_ERROR(wait_for<Read>([&](auto done) { consensus_.read_index(deadline, done); }).status());
    }
    using Taken = Result<raft::SnapshotInfo>;
    DROVER_RETURN_IF_ERROR(wait_for<Taken>([&](auto done) { consensus_.take_snapshot(done); }).status());
    DROVER_TRY(const raft::Consensus::OpenSnapshot open, consensus_.open_snapshot());
    std::string buffer(kReadBytes, '\0');
    while (true) {
      DROVER_TRY(const size_t n, open.bytes->read(buffer));
      if (n == 0) return Snapshot{.index = open.info.index, .term = open.info.term};
      DROVER_RETURN_IF_ERROR(sink(std::string_view(buffer).substr(0, n)));
    }
  }

 private:
  raft::Consensus& consensus_;
};

}  // namespace

std::unique_ptr<RaftControl> make_raft_control(raft::Consensus& consensus) {
  return std::make_unique<Control>(consensus);
}

void report_raft(Metrics& metrics, const raft::Consensus& consensus) {
  const raft::Stats stats = consensus.stats();
  const raft::Index last_index = consensus.last_index();
  const std::pair<const char*, uint64_t> gauges[] = {
      {"elections.started", stats.elections_started},
      {"elections.won", stats.elections_won},
      {"elections.lost", stats.elections_started - std::min(stats.elections_started, stats.elections_won)},
      {"reads", stats.reads},
      {"reads.lease", stats.reads_by_lease},
      {"reads.round", stats.reads_by_round},
      {"reads.forwarded", stats.reads_by_leader},
      {"messages_dropped", stats.messages_dropped},
      {"snapshots.taken", stats.snapshots_taken},
      {"snapshots.failed", stats.snapshots_failed},
      {"snapshots.sent", stats.snapshots_sent},
      {"snapshots.installed", stats.snapshots_installed},
      {"snapshots.bytes", stats.snapshot_bytes},
      {"damaged", stats.is_damaged},
      {"repairs", stats.repairs},
      {"scrub.rounds", stats.scrub_rounds},
      {"scrub.errors", stats.scrub_errors}};
  for (const auto& [name, value] : gauges) metrics.set("nomad.raft." + std::string(name), static_cast<double>(value));
  metrics.set("nomad.raft.snapshots.seconds", static_cast<double>(stats.snapshot_ns) / 1e9);
  for (const raft::PeerInfo& peer : consensus.peers()) {
    const Labels labels = {{"peer_id", peer.id.to_string()}};
    metrics.set("nomad.raft.replication.lag", static_cast<double>(last_index - std::min(last_index, peer.match)),
                labels);
    metrics.set("nomad.raft.replication.silence", std::chrono::duration<double>(peer.since_contact).count(), labels);
  }
}

std::chrono::nanoseconds time_suspended() {
  timespec with{}, without{};
  clock_gettime(CLOCK_MONOTONIC, &without);
  clock_gettime(CLOCK_BOOTTIME, &with);
  const auto ns = [](const timespec& t) {
    return std::chrono::seconds(t.tv_sec) + std::chrono::nanoseconds(t.tv_nsec);
  };
  return ns(with) - ns(without);
}

RaftInfo describe(const raft::Consensus& consensus) {
  const raft::Stats stats = consensus.stats();
  const raft::Member leader = consensus.leader_hint();
  const raft::Membership membership = consensus.membership();
  RaftInfo info{.server_id = consensus.node_id(),
                .cluster_id = consensus.cluster_id(),
                .role = std::string(to_string(consensus.role())),
                .is_leader = consensus.role() == raft::Role::leader,
                .term = consensus.term(),
                .last_index = consensus.last_index(),
                .commit_index = consensus.commit_index(),
                .applied_index = consensus.applied_index(),
                .durable_index = consensus.durable_index(),
                .first_index = stats.first_index,
                .snapshot_index = stats.snapshot_index,
                .last_term = stats.last_term,
                .snapshot_term = stats.snapshot_term,
                .leader_id = leader.id,
                .leader_address = leader.address,
                .last_contact = consensus.last_contact(),
                .configuration_index = membership.index,
                .is_damaged = stats.is_damaged || stats.is_rotten};
  const std::vector<raft::PeerInfo> peers = consensus.peers();
  for (const raft::Member& member : membership.members) {
    RaftServer server{.id = member.id,
                      .address = member.address,
                      .is_voter = member.suffrage == raft::Suffrage::voter,
                      .is_leader = member.id == leader.id};
    const auto peer = std::ranges::find(peers, member.id, &raft::PeerInfo::id);
    if (peer != peers.end()) {
      server.match_index = peer->match;
      server.is_damaged = peer->is_damaged;
      if (peer->is_reached) server.since_contact = peer->since_contact;
    } else if (member.id == info.server_id) {
      server.match_index = info.durable_index;
      server.is_damaged = info.is_damaged;
      server.since_contact = std::chrono::nanoseconds(0);
    }
    info.servers.push_back(std::move(server));
  }
  return info;
}

}  // namespace drover
