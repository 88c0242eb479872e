// The part of [raft] that shows its own state and its peers' to everybody else.
#include <algorithm>

#include "drover/log.h"
#include "drover/mutex.h"
#include "kernel/raft/raft_loop.h"

namespace drover::raft {

void RaftLoop::show_membership() {
  const Membership& now = core_->membership();
  std::vector<Member> others;
  for (const Member& member : now.members) {
    addresses_[member.id] = member.address;
    if (member.id != self_) others.push_back(member);
  }
  // A leaving voter still counts while the membership is joint, and is in it by identifier only.
  for (const NodeId& id : now.outgoing) {
    const auto known = addresses_.find(id);
    const bool is_member = std::ranges::find(now.members, id, &Member::id) != now.members.end();
    if (id != self_ && !is_member && known != addresses_.end()) others.push_back({.id = id, .address = known->second});
  }
  transport_.set_peers(log_.cluster_id(), std::move(others));
  const MutexLock lock(board_.mutex);
  board_.membership = now;
  const auto found = std::ranges::find(now.members, board_.leader.id, &Member::id);
  if (found != now.members.end()) board_.leader = *found;
}

void RaftLoop::show() {
  const CoreStatus status = core_->status();
  board_.commit = status.commit_index;
  if (board_.term < status.term) board_.term = status.term;
  if (board_.is_damaged.exchange(status.is_damaged) && !status.is_damaged) {
    log::info("raft", "the damaged log is whole again", {{"last_index", status.last_index}, {"term", status.term}});
    log_.mark_whole();
    board_.update_stats([](Stats& stats) { ++stats.repairs; });
  }
  const CoreCounters& counters = core_->counters();
  const MutexLock lock(board_.mutex);
  board_.peers.clear();
  for (const PeerStatus& peer : status.peers) {
    if (peer.id == self_) continue;
    board_.peers.push_back({.id = peer.id,
                            .match = peer.match,
                            .since_contact = static_cast<int64_t>(peer.ticks_since_contact) * options_.tick,
                            .is_reached = peer.match > 0,
                            .is_damaged = peer.is_damaged});
  }
  Stats& stats = board_.stats;
  stats.elections_started = counters.elections_started;
  stats.elections_won = counters.elections_won;
  stats.step_downs = counters.step_downs;
  stats.messages_dropped = counters.messages_dropped;
  stats.reads_by_lease = counters.reads_by_lease;
  stats.reads_by_round = counters.reads_by_round;
  stats.reads_by_leader = counters.reads_by_leader;
}

}  // namespace drover::raft
