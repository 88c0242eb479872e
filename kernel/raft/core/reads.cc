// Reads without a log write (Raft §6.4; section 8): confirmed by numbered rounds of heartbeats, or by a lease.
#include <algorithm>

#include "kernel/raft/core/state.h"

namespace drover::raft {

// R1: the entries that earlier terms committed are known only once an entry of this term is committed.
bool Core::Impl::may_read() const { return has_own_commit(); }

// Raft §6.4.1. `at` was read after the request arrived, so a pause between that and this is harmless.
bool Core::Impl::has_lease(SteadyTime at) const {
  return config.lease_reads && !is_lease_barred && may_read() && at < lease_until;
}

void Core::Impl::on(ReadIndex& read) {
  now = std::max(now, read.now);
  const Read one{.token = read.token, .index = commit};
  if (is_leader()) {
    if (has_lease(read.now)) {
      ++counters.reads_by_lease;
      return answer(one, Outcome::committed);
    }
    waiting_reads.push_back(one);
  } else if (!leader.is_zero()) {
    ++counters.reads_by_leader;
    forwarded_reads[++read_number] = {.token = read.token};
    Message m = message(MessageType::read_index, leader);
    m.round = read_number;
    send(std::move(m));
  } else {
    answer(one, Outcome::not_leader);
  }
}

void Core::Impl::on_read_index(const Message& m) {
  const Read one{.token = m.round, .from = m.from};
  if (!is_leader()) return answer(one, Outcome::not_leader);
  waiting_reads.push_back(one);
}

void Core::Impl::on_read_index_answer(const Message& m) {
  if (m.from == leader && m.round == repair_number && !m.is_refused) {
    repair_target = m.last_index;
    return recover_from_damage();
  }
  const auto found = forwarded_reads.find(m.round);
  if (m.from != leader || found == forwarded_reads.end()) return;
  answer({.token = found->second.token, .index = m.log_index}, m.is_refused ? Outcome::not_leader : Outcome::committed);
  forwarded_reads.erase(found);
}

void Core::Impl::answer(const Read& read, Outcome outcome) {
  const Index index = outcome == Outcome::committed ? read.index : 0;
  if (read.from.is_zero()) return out.reads.push_back({.token = read.token, .outcome = outcome, .index = index});
  Message reply = message(MessageType::read_index_answer, read.from);
  reply.is_refused = outcome != Outcome::committed;
  reply.log_index = index;
  reply.last_index = log.last_index();
  reply.round = read.token;
  send(std::move(reply));
}

// Reads that arrive while a round is out share the next one.
void Core::Impl::start_reads() {
  if (waiting_reads.empty() || !started_reads.empty() || !may_read()) return;
  start_round();
  send_heartbeats();
  confirm_reads();  // a sole voter has confirmed itself
}

// Every waiting read is in it: it began after they arrived, and the commit index is no older.
void Core::Impl::start_round() {
  ++round;
  if (config.lease_reads) round_starts.push_back({.round = round, .at = now});
  if (waiting_reads.empty() || !may_read()) return;
  ++counters.read_rounds;
  for (Read& read : waiting_reads) {
    read.index = commit;
    read.round = round;
    started_reads.push_back(read);
  }
  waiting_reads.clear();
}

void Core::Impl::confirm_reads() {
  const uint64_t confirmed = quorum_value(in_force(), [this](const NodeId& id) {
    if (id == config.id) return round;
    const Progress* peer = find_peer(id);
    return peer ? peer->round : 0;
  });
  while (!started_reads.empty() && started_reads.front().round <= confirmed) {
    ++counters.reads_by_round;
    answer(started_reads.front(), Outcome::committed);
    started_reads.pop_front();
  }
  // The shortest election timeout of any voter, less one tick for where in a tick the heartbeat came.
  const std::chrono::nanoseconds promised = config.tick * (config.election_ticks - 1);
  while (!round_starts.empty() && round_starts.front().round <= confirmed) {
    const auto lease = promised * 1'000'000 / (1'000'000 + static_cast<int64_t>(config.lease_drift_ppm));
    lease_until = std::max(lease_until, round_starts.front().at + lease);
    round_starts.pop_front();
  }
}

void Core::Impl::fail_reads() {
  for (const Read& read : started_reads) answer(read, Outcome::not_leader);
  for (const Read& read : waiting_reads) answer(read, Outcome::not_leader);
  started_reads.clear();
  waiting_reads.clear();
}

void Core::Impl::fail_forwarded_reads() {
  for (const auto& [number, read] : forwarded_reads) answer({.token = read.token}, Outcome::not_leader);
  forwarded_reads.clear();
}

// An answer that got lost does not come any more.
void Core::Impl::tick_reads() {
  for (auto read = forwarded_reads.begin(); read != forwarded_reads.end();) {
    if (++read->second.elapsed < config.election_ticks) {
      ++read;
      continue;
    }
    answer({.token = read->second.token}, Outcome::not_leader);
    read = forwarded_reads.erase(read);
  }
}

}  // namespace drover::raft
