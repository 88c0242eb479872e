// The leader's side of replication and commitment (Raft §3.5, §3.6; rules R1, R2, R5 to R11, E6).
#include <algorithm>

#include "drover/result.h"
#include "kernel/raft/core/state.h"
#include "storage/membership_bytes.h"

namespace drover::raft {

std::optional<Outcome> Core::Impl::refuse(const Proposal& proposal) const {
  if (!is_leader() || transfer) return Outcome::not_leader;
  if (proposal.only_in_term != 0 && proposal.only_in_term != term) return Outcome::other_term;
  if (proposal.type == EntryType::membership) return Outcome::invalid;
  const uint64_t bytes = proposal.payload ? proposal.payload->size() : 0;
  if (bytes > config.max_entry_bytes) return Outcome::too_large;
  if (uncommitted_bytes != 0 && uncommitted_bytes + bytes > config.max_uncommitted_bytes) return Outcome::backlog_full;
  return std::nullopt;
}

void Core::Impl::on(Propose& propose) {
  for (Proposal& one : propose.batch) {
    if (const std::optional<Outcome> refusal = refuse(one)) {
      resolve(one.token, *refusal, 0, *refusal == Outcome::invalid ? "a membership changes by its own request" : "");
    } else {
      append(one.type, std::move(one.payload), one.token);
    }
  }
}

void Core::Impl::append(EntryType type, std::shared_ptr<const std::string> payload, std::optional<uint64_t> token) {
  const Index index = log.last_index() + 1;
  const uint64_t bytes = payload ? payload->size() : 0;
  uncommitted_bytes += bytes;  // R10
  proposed.push_back({.index = index, .bytes = bytes, .token = token});
  log.append({.index = index, .term = term, .type = type, .payload = std::move(payload)});
}

void Core::Impl::tick_leader() {
  for (Progress& peer : peers) ++peer.ticks_since_contact;
  make_way();
  if (++heartbeat_elapsed >= config.heartbeat_ticks) {
    heartbeat_elapsed = 0;
    if (config.lease_reads || !waiting_reads.empty()) start_round();
    send_heartbeats();
    confirm_reads();  // the quorum may have become a smaller one, or nobody else
  }
  // E6. Asks whether a quorum has been heard within an election timeout.
  const uint64_t limit = static_cast<uint64_t>(config.election_ticks);
  const VoteResult contact = vote_result(in_force(), [&](const NodeId& id) -> std::optional<bool> {
    const Progress* peer = find_peer(id);
    return id == config.id || (peer && peer->ticks_since_contact < limit);
  });
  if (contact != VoteResult::won) {
    DROVER_REACH("the quorum is gone");
    become_follower(term, {}, "the quorum is gone");
  }
}

// Independent of the log and of the peer's disk (R11). The peer's known log bounds the commit index.
void Core::Impl::send_heartbeats() {
  for (const Progress& peer : peers) {
    Message m = message(MessageType::heartbeat, peer.id);
    m.commit = std::min(commit, peer.match);
    m.round = round;
    send(std::move(m));
  }
}

// The peers are all members in force, and those that leave until that is committed: they may learn of it.
void Core::Impl::sync_peers() {
  std::vector<NodeId> ids = all_members(in_force());
  const std::vector<NodeId> leaving = all_members(committed_membership());
  ids.insert(ids.end(), leaving.begin(), leaving.end());
  std::ranges::sort(ids);
  ids.erase(std::unique(ids.begin(), ids.end()), ids.end());
  std::erase(ids, config.id);
  std::erase_if(peers, [&](const Progress& peer) { return !std::ranges::binary_search(ids, peer.id); });
  for (const NodeId& id : ids) {
    if (!find_peer(id)) peers.push_back({.id = id, .next = log.last_index() + 1});  // R6
  }
  std::ranges::sort(peers, {}, &Progress::id);
}

Progress* Core::Impl::find_peer(const NodeId& id) {
  const auto found = std::ranges::find(peers, id, &Progress::id);
  return is_leader() && found != peers.end() ? &*found : nullptr;
}

// I6: the leader counts itself when its own disk has it, not before (S27).
Index Core::Impl::own_match() const { return log.durable_index(); }

void Core::Impl::replicate(Progress& peer) {
  if (peer.state == Progress::State::probe) {
    if (!peer.is_paused) send_next(peer);
    return;
  }
  while (peer.state == Progress::State::replicate && peer.next <= log.last_index() && !peer.is_full(config)) {
    if (!send_next(peer)) return;
  }
  // A new commit index travels without waiting for the next heartbeat.
  if (peer.state == Progress::State::replicate && peer.next > log.last_index() && peer.commit_sent < commit) {
    send_empty(peer);
  }
}

// The next append; false when nothing could be sent now. R7: from a prefix that is gone there is no append.
bool Core::Impl::send_next(Progress& peer) {
  if (peer.next < log.first_index()) return want_snapshot(peer), false;
  std::vector<Entry> entries;
  if (log.is_recent(peer.next)) {
    log.copy_recent(peer.next, config.append_bytes, entries);
  } else if (peer.next <= log.last_index() && peer.state == Progress::State::replicate) {
    if (!peer.is_reading) {
      out.log_reads.push_back(
          {.to = peer.id, .from = peer.next, .upto = log.last_index(), .max_bytes = config.append_bytes});
    }
    peer.is_reading = true;
    return false;
  }
  if (entries.empty()) return send_empty(peer), false;
  send_entries(peer, std::move(entries));
  return true;
}

void Core::Impl::send_empty(Progress& peer) {
  Message m = message(MessageType::append, peer.id);
  m.log_index = peer.next - 1;
  m.log_term = log.term_at(peer.next - 1);
  m.commit = peer.commit_sent = commit;
  if (peer.state == Progress::State::probe) peer.is_paused = true;
  ++counters.appends_sent;
  send(std::move(m));
}

void Core::Impl::send_entries(Progress& peer, std::vector<Entry> entries) {
  Message m = message(MessageType::append, peer.id);
  m.log_index = peer.next - 1;
  m.log_term = log.term_at(peer.next - 1);
  m.commit = peer.commit_sent = commit;
  DROVER_CHECK(entries.front().index == peer.next);  // I8
  const Index last = entries.back().index;
  m.entries = std::move(entries);
  if (peer.state == Progress::State::probe) {
    peer.is_paused = true;
  } else {
    peer.sent(last, message_bytes(m));
  }
  ++counters.appends_sent;
  send(std::move(m));
}

void Core::Impl::want_snapshot(Progress& peer) {
  ++counters.snapshots_wanted;
  peer.become_snapshot();
  out.snapshots.push_back({.to = peer.id});
}

void Core::Impl::on(EntriesRead& read) {
  Progress* peer = find_peer(read.to);
  if (!peer || !peer->is_reading) return;
  peer->is_reading = false;
  if (peer->state != Progress::State::replicate || read.from != peer->next || peer->is_full(config)) return;
  Index index = read.from;
  // The term before the first one is needed as well, so the entry in front of the log is too old.
  const bool is_ours = read.from >= log.first_index() && std::ranges::all_of(read.entries, [&](const Entry& entry) {
                         return entry.index == index++ && log.holds(entry.index, entry.term);
                       });
  if (!is_ours) return;  // of a log that has changed meanwhile; it is asked for again
  if (read.entries.empty()) {
    DROVER_REACH("entries that cannot be read");
    if (peer->next <= snapshot_index) return want_snapshot(*peer);
    peer->become_probe(peer->match + 1);  // another try with its next sign of life
    peer->is_paused = true;
    is_log_unreadable |= peer->next > commit;  // or a snapshot will do
    return make_way();
  }
  send_entries(*peer, std::move(read.entries));
}

void Core::Impl::on(SnapshotSent& sent) {
  Progress* peer = find_peer(sent.to);
  if (!peer || peer->state != Progress::State::snapshot) return;
  // `match` moves by its own answer only. Given up or not, the next step waits for a sign of life.
  const bool is_ours = sent.index <= snapshot_index;
  peer->become_probe(sent.is_ok && is_ours ? std::max(peer->match, sent.index) + 1 : peer->match + 1);
  peer->is_paused = true;
}

void Core::Impl::on_append_answer(const Message& m) {
  Progress* peer = find_peer(m.from);
  if (!peer) return;
  if (m.is_refused ? m.log_index == 0 : m.log_index > log.last_index()) return drop();
  peer->ticks_since_contact = 0;
  peer->is_damaged = m.is_damaged;
  if (m.is_damaged) {
    // The one exception from R6: the peer itself says that it has lost entries that it had confirmed (5.5). Its entries
    // may be those from before it was cut and replaced, so only what it accepts now is known to match.
    const Index has = m.is_refused ? std::min(m.last_index, m.log_index - 1) : m.log_index;
    const Index known = m.is_refused ? 0 : m.log_index;
    if (known < peer->match) {
      DROVER_REACH("a peer that has lost entries");
      peer->match = known;
      if (peer->state != Progress::State::snapshot) peer->become_probe(has + 1);
      return;
    }
  }
  if (m.is_refused) return on_refusal(*peer, m);
  const bool is_news = peer->accepted(m.log_index);
  const bool is_in_reach = peer->match + 1 >= log.first_index();
  if (peer->state == Progress::State::probe || (peer->state == Progress::State::snapshot && is_in_reach)) {
    peer->become_replicate();
  }
  if (!is_news) return;
  advance_commit();
  continue_transfer();
}

// R5: over whole terms of the follower's at once.
void Core::Impl::on_refusal(Progress& peer, const Message& m) {
  ++counters.appends_refused;
  if (peer.state == Progress::State::snapshot) return;
  if (peer.is_stale_refusal(m.log_index)) {
    DROVER_REACH("a refusal that is stale");
    return;
  }
  Index next = std::min(m.last_index + 1, m.log_index);
  if (m.conflict_term != 0 && log.first_index() <= m.log_index + 1) {
    const Index ours = log.last_at_most(m.conflict_term, m.log_index);
    const bool is_shared = ours >= m.conflict_first && log.term_at(ours) == m.conflict_term;
    next = is_shared ? ours + 1 : m.conflict_first;
  }
  peer.become_probe(std::max(peer.match + 1, std::min(next, m.log_index)));
}

void Core::Impl::on_heartbeat_answer(const Message& m) {
  Progress* peer = find_peer(m.from);
  if (!peer) return;
  peer->ticks_since_contact = 0;
  peer->is_paused = false;
  // R9: finds a lost tail, also while the window is full.
  if (peer->state == Progress::State::replicate && peer->match + 1 < peer->next) {
    if (peer->next >= log.first_index()) {
      send_empty(*peer);
    } else {
      DROVER_REACH("the log is cut beyond what is in flight");  // S22
      peer->become_probe(peer->match + 1);
    }
  }
  peer->round = std::max(peer->round, m.round);
  confirm_reads();
}

// R2, Raft §3.6.2: only by counting for an entry of its own term (S01).
void Core::Impl::advance_commit() {
  const Index reached = quorum_value(in_force(), [this](const NodeId& id) {
    if (id == config.id) return own_match();
    const Progress* peer = find_peer(id);
    return peer ? peer->match : 0;
  });
  if (reached <= commit) return;
  if (log.term_at(reached) != term) return;
  commit_to(reached);
  finish_joint_membership();
}

}  // namespace drover::raft
