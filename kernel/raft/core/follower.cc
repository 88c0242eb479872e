// The follower's side: appends, heartbeats, snapshots (Raft §3.5, §5; rules R3, R4, R5; section 10.5).
#include <algorithm>

#include "drover/result.h"
#include "kernel/raft/core/state.h"
#include "storage/membership_bytes.h"

namespace drover::raft {

// A leader of this term or a later one speaks. Two of them in one term is corruption (E9).
void Core::Impl::follow(const Message& m) {
  if (m.term == term && !leader.is_zero() && leader != m.from) {
    const std::string what =
        "two leaders in term " + std::to_string(term) + ": " + leader.to_string() + " and " + m.from.to_string();
    check_failed(__FILE__, __LINE__, what.c_str());
  }
  if (m.term > term || stage != Stage::follower || leader != m.from) become_follower(m.term, m.from, "a leader spoke");
  election_elapsed = 0;
  since_leader = 0;
  is_leader_heard = true;
}

void Core::Impl::on_append(Message& m) {
  if (m.term < term) {  // an old leader steps down by this
    Message reply = message(MessageType::append_answer, m.from);
    reply.log_index = std::max<Index>(m.log_index, 1);
    reply.last_index = log.last_index();
    reply.is_refused = true;
    return send_when_durable(hard_state_write, std::move(reply));
  }
  follow(m);
  if (!is_prev_held(m)) return refuse_append(m);
  const Index checked = merge(m);
  matched = std::max(matched, checked);
  // R3: never beyond what this message has checked (S02).
  commit_to(std::min(m.commit, checked));
  recover_from_damage();
}

// Everything up to the commit index equals the leader's log, compacted or not (S18).
bool Core::Impl::is_prev_held(const Message& m) const {
  return m.log_index <= commit || log.holds(m.log_index, m.log_term);
}

// R5. Nothing is promised, but terms seen from outside should not go back after a crash.
void Core::Impl::refuse_append(const Message& m) {
  Message reply = message(MessageType::append_answer, m.from);
  reply.is_refused = true;
  reply.is_damaged = is_damaged;
  reply.log_index = m.log_index;
  reply.last_index = log.last_index();
  if (m.log_index <= log.last_index()) {
    reply.conflict_term = log.term_at(m.log_index);
    reply.conflict_first = std::max(log.run_start(m.log_index), commit + 1);
  }
  send_when_durable(hard_state_write, std::move(reply));
}

// R4: entry by entry; cut at the first difference only; never what is committed. Returns the last index that is now
// known to equal the leader's log.
Index Core::Impl::merge(Message& m) {
  bool is_new = false;
  for (Entry& entry : m.entries) {
    if (entry.index < log.first_index()) continue;
    if (entry.index <= log.last_index()) {
      if (log.term_at(entry.index) == entry.term) continue;
      DROVER_CHECK(entry.index > commit);  // I4
      DROVER_REACH("a tail that conflicts");
      roll_back_memberships(entry.index);
      log.truncate(entry.index);
    }
    if (entry.index != log.last_index() + 1) continue;  // behind a gap: only when prev was not checked
    is_new = true;
    std::optional<Membership> membership;
    if (entry.type == EntryType::membership && epoch_of(entry.term) == epoch_of(term)) {
      membership = *decode_membership(entry.bytes());  // is_well_formed has read it
      membership->index = entry.index;
    }
    log.append(std::move(entry));
    if (membership) adopt(*std::move(membership));
  }
  owes_answer = owes_answer || !is_new;
  return m.log_index + m.entries.size();
}

// "Accepted up to i" promises that i is durable, with the term (section 3). One answer for all appends since the last.
void Core::Impl::acknowledge() {
  if (leader.is_zero() || is_leader()) return;
  if (!is_hard_state_durable() || !log.is_durable(start_over_write)) return;
  const Index upto = std::min(matched, log.durable_index());
  if (upto <= acknowledged && !owes_answer) return;
  owes_answer = false;
  acknowledged = std::max(acknowledged, upto);
  Message reply = message(MessageType::append_answer, leader);
  reply.log_index = upto;
  reply.is_damaged = is_damaged;
  send(std::move(reply));
}

// Proves contact, at once; never a log position (section 3).
void Core::Impl::on_heartbeat(const Message& m) {
  Message reply = message(MessageType::heartbeat_answer, m.from);
  // No round: the message may be from an earlier life of this term's leader, and each life counts its rounds anew.
  if (m.term < term) return send_when_durable(hard_state_write, std::move(reply));
  reply.round = m.round;
  follow(m);
  reply.term = term;
  // R11: the leader has bounded it by what we told it. A log that ends below it has lost entries; a damaged log may
  // have older entries in their place.
  if (m.commit <= (is_damaged ? matched : log.last_index())) {
    commit_to(m.commit);
  } else if (is_damaged) {
    DROVER_REACH("a leader that does not know of the loss");
    refuse_append({.from = m.from, .log_index = m.commit});  // or an idle leader would never learn of it
  } else {
    drop();
  }
  send(std::move(reply));
}

// 5.5: the log is whole again when everything that the leader's log held at some moment after our start is durable
// here. That includes all that we confirmed before the damage, and the leader answers a read only when its log has all
// that earlier terms committed. The number belongs to this incarnation, so no older answer passes for it.
void Core::Impl::ask_for_repair() {
  if (!is_damaged || leader.is_zero() || repair_target != 0) return;
  repair_number = ++read_number;
  Message m = message(MessageType::read_index, leader);
  m.round = repair_number;
  send(std::move(m));
}

void Core::Impl::recover_from_damage() {
  if (!is_damaged || repair_target == 0 || std::min(matched, log.durable_index()) < repair_target) return;
  DROVER_REACH("a damaged log is whole again");
  is_damaged = false;
}

// 10.5, Raft §5.2 (S40, S41).
void Core::Impl::on(SnapshotArrived& arrived) {
  if (arrived.leader_term < term || arrived.leader_term == 0 || arrived.from.is_zero() || arrived.from == config.id) {
    return drop();
  }
  follow({.from = arrived.from, .term = arrived.leader_term});
  owes_answer = true;
  if (arrived.index <= commit) {
    DROVER_REACH("a snapshot of what is committed already");
    matched = std::max(matched, commit);
    return;
  }
  Membership membership = epoch_of(arrived.term) == epoch_of(term) ? std::move(arrived.membership) : in_force();
  membership.index = std::min(membership.index, arrived.index);
  // Entries that are not durable yet have been promised to nobody: drop them, so the snapshot is not ahead of its log.
  const bool is_held = log.holds(arrived.index, arrived.term);
  if (is_held && arrived.index <= log.durable_index()) {
    DROVER_REACH("a snapshot below the end of the log");
    std::erase_if(memberships, [&](const Membership& one) { return one.index <= arrived.index; });
    memberships.insert(memberships.begin(), std::move(membership));
  } else {
    log.start_over(arrived.index, arrived.term);
    start_over_write = log.next_write();
    memberships.clear();
    memberships.push_back(std::move(membership));
    is_membership_new = true;
  }
  snapshot_index = arrived.index;
  installing = arrived.index;
  commit = std::max(commit, arrived.index);
  matched = std::max(matched, commit);
  out.install = SnapshotInstall{.index = arrived.index, .term = arrived.term};
}

void Core::Impl::on(SnapshotInstalled& installed) {
  if (installing == 0 || installed.index < installing) return;  // a newer one is on its way
  installing = 0;
  applied = std::max(applied, installed.index);
  apply_to = std::max(apply_to, installed.index);
}

void Core::Impl::on(SnapshotTaken& taken) {
  DROVER_CHECK(taken.index <= commit && taken.index <= log.durable_index());  // section 3
  if (taken.index <= snapshot_index) return;
  snapshot_index = taken.index;
  log.compact(std::min(taken.first_index, taken.index + 1));
}

}  // namespace drover::raft
