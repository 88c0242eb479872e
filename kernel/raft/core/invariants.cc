// The safety properties (Raft fig. 3.2; invariants I1 to I10). A violation ends the process, in release builds too:
// going on would spread it.
#include <algorithm>

#include "drover/result.h"
#include "kernel/raft/core/state.h"

namespace drover::raft {

// After every step; constant time.
void Core::Impl::check_step() {
  // I1
  DROVER_CHECK(term >= seen.term && commit >= seen.commit && applied >= seen.applied);
  DROVER_CHECK(snapshot_index >= seen.snapshot && snapshot_index <= commit && snapshot_index <= log.durable_index());
  DROVER_CHECK(applied <= commit && commit <= log.last_index() && apply_to <= commit);
  // I2
  DROVER_CHECK(seen.vote_term != term || seen.vote.is_zero() || seen.vote == vote);
  DROVER_CHECK(seen.leader_term != term || leader.is_zero() || seen.leader == leader);
  DROVER_CHECK(!is_leader() || (vote == config.id && leader == config.id));
  // I3
  DROVER_CHECK(log.last_term() <= term);
  seen.term = seen.vote_term = term;
  seen.vote = vote;
  seen.commit = commit;
  seen.applied = applied;
  seen.snapshot = snapshot_index;
  if (!leader.is_zero()) {
    seen.leader_term = term;
    seen.leader = leader;
  }
}

// Everything again, from scratch.
void Core::Impl::check() const {
  log.check();
  // I7 and 9.2: ascending; the first is that of the commit index; a leader has at most one open change.
  DROVER_CHECK(!memberships.empty());
  for (size_t i = 1; i < memberships.size(); ++i) {
    DROVER_CHECK(memberships[i - 1].index < memberships[i].index && memberships[i].index > commit);
    DROVER_CHECK(memberships[i].index <= log.last_index());
  }
  DROVER_CHECK(!is_leader() || !has_own_commit() || memberships.size() <= 2);
  for (const Held& one : held) DROVER_CHECK(!log.is_durable(one.write_seq) && one.message.term == term);
  if (!is_leader()) {
    DROVER_CHECK(proposed.empty() && started_reads.empty() && waiting_reads.empty());
    return;
  }
  // I3, I9: this leader's proposals are still in the log, in order.
  uint64_t bytes = 0;
  Index last = commit;
  for (const Proposed& one : proposed) {
    DROVER_CHECK(one.index > last && log.holds(one.index, term));
    last = one.index;
    bytes += one.bytes;
  }
  DROVER_CHECK(bytes == uncommitted_bytes);
  // I5
  for (const Progress& peer : peers) {
    DROVER_CHECK(peer.match < peer.next && peer.match <= log.last_index() && peer.next <= log.last_index() + 1);
    uint64_t in_flight = 0;
    for (const Progress::InFlight& one : peer.in_flight) {
      DROVER_CHECK(one.last > peer.match && one.last < peer.next);
      in_flight += one.bytes;
    }
    DROVER_CHECK(in_flight == peer.in_flight_bytes);
    DROVER_CHECK(peer.state == Progress::State::replicate || peer.in_flight.empty());
  }
  // I6: no quorum has an entry of this term that is not committed; counted without quorum.h.
  const auto has = [&](const NodeId& id, Index index) {
    if (id == config.id) return log.durable_index() >= index;
    const auto peer = std::ranges::find(peers, id, &Progress::id);
    return peer != peers.end() && peer->match >= index;
  };
  const auto is_held = [&](Index index) {
    size_t voters = 0;
    size_t holders = 0;
    for (const Member& member : in_force().members) {
      if (member.suffrage != Suffrage::voter) continue;
      ++voters;
      holders += has(member.id, index) ? 1 : 0;
    }
    const auto old = std::ranges::count_if(in_force().outgoing, [&](const NodeId& id) { return has(id, index); });
    return holders * 2 > voters &&
           (in_force().outgoing.empty() || static_cast<size_t>(old) * 2 > in_force().outgoing.size());
  };
  const Index next = std::max(commit + 1, term_start);
  DROVER_CHECK(next > log.last_index() || !is_held(next));
}

}  // namespace drover::raft
