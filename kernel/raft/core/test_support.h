// Several cores in one thread with a network and disks that a test moves by hand: messages wait in one list until they
// are delivered, writes until they are confirmed. Watches over what must hold across servers. For tests.
#pragma once

#include <algorithm>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "kernel/raft/core/core.h"
#include "kernel/raft/core/quorum.h"
#include "storage/membership_bytes.h"

namespace drover::raft {

// Servers are small numbers in tests.
inline NodeId id_of(int number) {
  std::string bytes(16, '\0');
  bytes[0] = static_cast<char>(number);
  return Uuid::from_bytes(bytes);
}
inline int number_of(const NodeId& id) { return static_cast<unsigned char>(id.bytes()[0]); }

inline Membership members_of(int voters, int learners = 0) {
  Membership m;
  for (int i = 1; i <= voters + learners; ++i) {
    m.members.push_back({.id = id_of(i),
                         .address = "10.0.0." + std::to_string(i),
                         .suffrage = i <= voters ? Suffrage::voter : Suffrage::learner});
  }
  return m;
}

inline std::shared_ptr<const std::string> text(std::string bytes) {
  return std::make_shared<const std::string>(std::move(bytes));
}

// ---- effects as lines of text ----

inline std::string name_of(const NodeId& id) { return id.is_zero() ? "nobody" : std::to_string(number_of(id)); }
inline std::string place(Index index, Term term) { return std::to_string(index) + "/" + std::to_string(term); }

inline std::string describe(const Membership& membership) {
  std::string out = "{";
  for (const Member& m : membership.members) {
    if (out.size() > 1) out += " ";
    out += name_of(m.id) + (m.suffrage == Suffrage::voter ? "" : "~");
  }
  if (!membership.outgoing.empty()) out += " of";
  for (const NodeId& id : membership.outgoing) out += " " + name_of(id);
  return out + "}";
}

inline std::string describe(const Entry& entry) {
  std::string out = place(entry.index, entry.term);
  if (entry.type == EntryType::command) return out + ":" + std::string(entry.bytes().substr(0, 12));
  if (entry.type == EntryType::membership) return out + ":" + describe(*decode_membership(entry.bytes()));
  return out;
}

inline std::string describe(const std::vector<Entry>& entries) {
  std::string out;
  for (const Entry& entry : entries) out += " " + describe(entry);
  return out;
}

inline std::string describe(const Message& m) {
  std::string out =
      name_of(m.from) + ">" + name_of(m.to) + " " + std::string(to_string(m.type)) + " term " + std::to_string(m.term);
  switch (m.type) {
    case MessageType::pre_vote:
    case MessageType::vote:
      return out + " last " + place(m.log_index, m.log_term) + (m.is_transfer ? " transfer" : "");
    case MessageType::pre_vote_answer:
    case MessageType::vote_answer:
      return out + (m.is_refused ? " refused" : " granted");
    case MessageType::append:
      return out + " after " + place(m.log_index, m.log_term) + " commit " + std::to_string(m.commit) +
             (m.entries.empty() ? "" : " entries") + describe(m.entries);
    case MessageType::append_answer:
      out += m.is_damaged ? " damaged" : "";
      if (!m.is_refused) return out + " has " + std::to_string(m.log_index);
      return out + " refused " + std::to_string(m.log_index) + " last " + std::to_string(m.last_index) +
             (m.conflict_term == 0
                  ? ""
                  : " term " + std::to_string(m.conflict_term) + " from " + std::to_string(m.conflict_first));
    case MessageType::heartbeat:
      return out + " commit " + std::to_string(m.commit) + " round " + std::to_string(m.round);
    case MessageType::heartbeat_answer:
      return out + " round " + std::to_string(m.round);
    case MessageType::timeout_now:
      return out;
    case MessageType::read_index:
      return out;
    case MessageType::read_index_answer:
      return out + (m.is_refused ? " refused" : " index " + std::to_string(m.log_index));
  }
  return out;
}

inline std::string describe(const LogWrite& write) {
  std::string out = "write " + std::to_string(write.write_seq);
  if (write.hard_state) {
    out += " term " + std::to_string(write.hard_state->term) + " vote " + name_of(write.hard_state->vote);
  }
  if (write.start_over) out += " start over at " + place(write.first_index, write.prev_term);
  if (write.truncate_from != 0) out += " cut from " + std::to_string(write.truncate_from);
  if (write.first_index != 0 && !write.start_over) out += " first " + std::to_string(write.first_index);
  if (!write.entries.empty()) out += " entries" + describe(write.entries);
  if (write.membership) out += " members " + describe(*write.membership);
  return out;
}

enum class Detail : uint8_t { all, outcomes };  // outcomes: without messages, writes and applying

inline std::vector<std::string> describe(int number, const Effects& effects, Detail detail) {
  std::vector<std::string> lines;
  const std::string who = std::to_string(number) + " ";
  for (const RoleChange& one : effects.roles) {
    static constexpr const char* kRoles[] = {"follower", "candidate", "leader"};
    lines.push_back(who + kRoles[static_cast<size_t>(one.role)] + " term " + std::to_string(one.term) + " leader " +
                    name_of(one.leader) + ": " + std::string(one.reason));
  }
  if (detail == Detail::all) {
    if (effects.write) lines.push_back(who + describe(*effects.write));
    for (const Message& m : effects.send) lines.push_back(who + "send " + describe(m));
    if (effects.apply_to != 0) lines.push_back(who + "apply to " + std::to_string(effects.apply_to));
    for (const LogRead& one : effects.log_reads) {
      lines.push_back(who + "read log from " + std::to_string(one.from) + " for " + name_of(one.to));
    }
  }
  for (const Resolution& one : effects.resolved) {
    lines.push_back(who + "token " + std::to_string(one.token) + " " + std::string(to_string(one.outcome)) +
                    (one.index != 0 ? " at " + place(one.index, one.term) : "") +
                    (one.why.empty() ? "" : ": " + one.why));
  }
  for (const ReadReady& one : effects.reads) {
    lines.push_back(who + "read " + std::to_string(one.token) + " " + std::string(to_string(one.outcome)) +
                    (one.outcome == Outcome::committed ? " at " + std::to_string(one.index) : ""));
  }
  for (const SnapshotSend& one : effects.snapshots) lines.push_back(who + "snapshot for " + name_of(one.to));
  if (effects.install) lines.push_back(who + "install " + place(effects.install->index, effects.install->term));
  return lines;
}

// The contents of a log on a disk.
struct LogImage {
  Index first = 1;
  Term prev_term = 0;
  std::deque<Entry> entries;

  Index last() const { return first + entries.size() - 1; }
  const Entry* at(Index index) const { return index >= first && index <= last() ? &entries[index - first] : nullptr; }
  bool holds(Index index, Term term) const {
    if (index + 1 == first) return prev_term == term;
    const Entry* entry = at(index);
    return entry && entry->term == term;
  }
  void apply(const LogWrite& write) {
    if (write.start_over) {
      first = write.first_index;
      prev_term = write.prev_term;
      entries.clear();
    }
    if (write.truncate_from != 0) {
      while (last() >= write.truncate_from && !entries.empty()) entries.pop_back();
    }
    for (const Entry& entry : write.entries) {
      DROVER_CHECK(entry.index == last() + 1);
      entries.push_back(entry);
    }
    while (!write.start_over && first < write.first_index) {
      prev_term = entries.front().term;
      entries.pop_front();
      ++first;
    }
  }
  TermRuns terms() const {
    TermRuns runs;
    runs.start_over(first, prev_term);
    for (const Entry& entry : entries) runs.append(entry.index, entry.term);
    return runs;
  }
};

struct Snapshot {
  Index index = 0;
  Term term = 0;
  Membership membership;
};

struct Server {
  CoreConfig config;
  std::unique_ptr<Core> core;  // null while down
  // Durable:
  LogImage disk;
  HardState hard_state;
  Snapshot snapshot;
  uint64_t write_seq = 0;
  bool is_damaged = false;
  // Gone after a crash:
  LogImage log;  // with what is not confirmed
  std::deque<LogWrite> writes;
  Index apply_to = 0;
  Index applied = 0;
  Index installing = 0;
  std::deque<LogRead> log_reads;
  std::deque<NodeId> snapshot_sends;
  bool is_disk_held = false;  // writes are confirmed by hand
};

class Cluster {
 public:
  using Trace = std::function<void(int, const Effects&)>;

  // The first failure across servers.
  std::string violation;
  Trace trace;
  std::map<int, Server> servers;
  std::deque<Message> network;
  std::set<std::pair<int, int>> cuts;  // one way
  SteadyTime now{};
  bool is_disk_lost = false;  // some server has lost what it had confirmed

  void add(int number, CoreConfig config, Membership membership) {
    Server& server = servers[number];
    config.id = id_of(number);
    server.config = config;
    server.snapshot.membership = std::move(membership);
    start(number);
  }

  void start(int number) {
    Server& s = servers.at(number);
    s.writes.clear();
    s.log = s.disk;
    s.apply_to = s.applied = s.snapshot.index;
    s.installing = 0;
    s.log_reads.clear();
    s.snapshot_sends.clear();
    std::erase_if(open_tokens, [&](const auto& one) { return one.second == number; });
    std::erase_if(open_reads, [&](const auto& one) { return one.second.first == number; });
    CoreState state{.hard_state = s.hard_state,
                    .snapshot_index = s.snapshot.index,
                    .snapshot_term = s.snapshot.term,
                    .terms = s.disk.terms(),
                    .write_seq = s.write_seq,
                    .is_damaged = s.is_damaged};
    state.memberships.push_back(s.snapshot.membership);
    for (const Entry& entry : s.disk.entries) {
      if (entry.type != EntryType::membership || entry.index <= s.snapshot.index) continue;
      state.memberships.push_back(*decode_membership(entry.bytes()));
      state.memberships.back().index = entry.index;
    }
    ++s.config.seed;
    s.core = std::make_unique<Core>(s.config, std::move(state));
  }

  void crash(int number) { servers.at(number).core.reset(); }
  bool is_up(int number) const { return servers.at(number).core != nullptr; }

  void step(int number, Input input) {
    if (!is_up(number)) return;
    servers.at(number).core->step(std::move(input));
    take(number);
  }

  uint64_t propose(int number, const std::string& payload) {
    const uint64_t token = next_token_++;
    open_tokens[token] = number;
    tokens_[payload] = token;
    step(number, Propose{.batch = {{.token = token, .payload = text(payload)}}});
    return token;
  }
  uint64_t new_token(int number) {
    open_tokens[next_token_] = number;
    return next_token_++;
  }
  uint64_t read(int number) {
    const uint64_t token = next_token_++;
    open_reads[token] = {number, acknowledged_};
    step(number, ReadIndex{.token = token, .now = now});
    return token;
  }

  // The message at this place of the list reaches its server, if that is up and the line is not cut.
  void deliver(size_t at) {
    Message m = std::move(network[at]);
    network.erase(network.begin() + static_cast<ptrdiff_t>(at));
    const int to = number_of(m.to);
    if (!is_cut(m) && servers.contains(to)) step(to, Receive{.message = std::move(m)});
  }
  bool is_cut(const Message& m) const { return cuts.contains({number_of(m.from), number_of(m.to)}); }

  // Confirms the oldest `count` writes, with one LogDurable.
  void confirm(int number, size_t count = SIZE_MAX) {
    Server& s = servers.at(number);
    if (s.writes.empty() || count == 0 || !s.core) return;
    for (; count > 0 && !s.writes.empty(); --count) {
      harden(s, s.writes.front());
      s.writes.pop_front();
    }
    step(number, LogDurable{.write_seq = s.write_seq});
  }

  // Applies what may be applied, and installs a snapshot that has arrived.
  void apply(int number) {
    Server& s = servers.at(number);
    if (!s.core) return;
    if (s.installing != 0) {
      s.applied = std::max(s.applied, s.installing);
      s.apply_to = std::max(s.apply_to, s.applied);
      step(number, SnapshotInstalled{.index = std::exchange(s.installing, 0)});
    }
    const Index before = s.applied;
    while (s.applied < s.apply_to) {
      const Entry* entry = s.log.at(++s.applied);
      if (!entry) return fail("server " + std::to_string(number) + " lacks entry " + std::to_string(s.applied));
      note_committed(*entry, number);
    }
    if (s.applied > before) step(number, AppliedTo{.index = s.applied});
  }

  // A snapshot at `index`, the log cut below `first`.
  void take_snapshot(int number, Index index, Index first) {
    Server& s = servers.at(number);
    if (!s.core || index <= s.snapshot.index || index > s.applied || !s.disk.at(index)) return;
    Membership membership = s.snapshot.membership;
    for (const Entry& entry : s.disk.entries) {
      if (entry.type != EntryType::membership || entry.index > index || entry.index <= membership.index) continue;
      membership = *decode_membership(entry.bytes());
      membership.index = entry.index;
    }
    s.snapshot = {.index = index, .term = s.disk.at(index)->term, .membership = membership};
    step(number,
         SnapshotTaken{.index = index, .term = s.snapshot.term, .membership = membership, .first_index = first});
  }

  // Moves the newest snapshot of one server to another.
  void send_snapshot(int from, int to) {
    const Snapshot snapshot = servers.at(from).snapshot;
    const CoreStatus sender = servers.at(from).core->status();
    if (sender.role != Role::leader) return;
    arrive(from, to, sender.term, snapshot);
    step(from, SnapshotSent{.to = id_of(to), .index = snapshot.index, .is_ok = true});
  }
  void arrive(int from, int to, Term leader_term, const Snapshot& snapshot) {
    Server& receiver = servers.at(to);
    if (!receiver.core) return;
    if (snapshot.index > receiver.snapshot.index) receiver.snapshot = snapshot;
    step(to, SnapshotArrived{.from = id_of(from),
                             .leader_term = leader_term,
                             .index = snapshot.index,
                             .term = snapshot.term,
                             .membership = snapshot.membership});
  }

  void answer_log_read(int number) {
    Server& s = servers.at(number);
    if (!s.core || s.log_reads.empty()) return;
    const LogRead read = s.log_reads.front();
    s.log_reads.pop_front();
    EntriesRead answer{.to = read.to, .from = read.from};
    uint64_t bytes = 0;
    for (Index i = read.from; i <= read.upto; ++i) {
      const Entry* entry = s.log.at(i);
      if (!entry || (bytes != 0 && bytes + entry->bytes().size() > read.max_bytes)) break;
      bytes += entry->bytes().size() + 1;
      answer.entries.push_back(*entry);
    }
    step(number, std::move(answer));
  }

  // Disks, state machines and the network until nothing moves.
  void settle(size_t limit = 100000) {
    for (bool moved = true; moved && limit > 0;) {
      moved = false;
      for (auto& [number, s] : servers) {
        if (!s.core) continue;
        if (!s.writes.empty() && !s.is_disk_held) confirm(number), moved = true;
        if (s.installing != 0 || s.applied < s.apply_to) apply(number), moved = true;
        if (!s.log_reads.empty()) answer_log_read(number), moved = true;
        if (!s.snapshot_sends.empty()) {
          const int to = number_of(s.snapshot_sends.front());
          s.snapshot_sends.pop_front();
          if (servers.contains(to) && is_up(to) && !cuts.contains({number, to})) {
            send_snapshot(number, to);
          } else {
            step(number, SnapshotSent{.to = id_of(to)});
          }
          moved = true;
        }
      }
      while (!network.empty() && limit-- > 0) deliver(0), moved = true;
    }
    if (limit == 0) fail("it does not settle");
  }

  int leader() const {
    int found = 0;
    Term newest = 0;
    for (const auto& [number, s] : servers) {
      if (!s.core) continue;
      const CoreStatus status = s.core->status();
      if (status.role == Role::leader && status.term > newest) found = number, newest = status.term;
    }
    return found;
  }

  void check() {
    for (auto& [number, s] : servers) {
      if (s.core) s.core->check();
    }
    for (const auto& [a, left] : servers) {
      for (const auto& [b, right] : servers) {
        if (a < b && left.core && right.core) check_matching(a, left.log, b, right.log);
      }
    }
  }

  std::map<uint64_t, int> open_tokens;                   // by the server they were given to
  std::map<uint64_t, std::pair<int, Index>> open_reads;  // and what was acknowledged when they came

 private:
  void fail(std::string what) {
    if (violation.empty()) violation = std::move(what);
  }

  void take(int number) {
    Server& s = servers.at(number);
    Effects effects = s.core->take_effects();
    const bool was_leader = leaders_.contains(s.core->status().term) && leaders_[s.core->status().term] == number;
    for (const RoleChange& change : effects.roles) {
      if (change.role != Role::leader) continue;
      const auto [at, is_new] = leaders_.emplace(change.term, number);
      if (at->second != number) fail("two leaders in term " + std::to_string(change.term));
    }
    if (effects.write) {
      s.log.apply(*effects.write);
      s.writes.push_back(*effects.write);
    }
    if (!was_leader && s.core->status().role == Role::leader) check_completeness(number);
    for (const Message& m : effects.send) {
      if (servers.contains(number_of(m.to)) && !is_cut(m)) network.push_back(m);
    }
    if (effects.apply_to != 0) {
      if (effects.apply_to <= s.apply_to) fail("apply_to goes back");
      s.apply_to = effects.apply_to;
    }
    for (const Resolution& one : effects.resolved) on_resolved(number, one);
    for (const ReadReady& one : effects.reads) on_read(one);
    for (const LogRead& one : effects.log_reads) s.log_reads.push_back(one);
    for (const SnapshotSend& one : effects.snapshots) s.snapshot_sends.push_back(one.to);
    if (effects.install) s.installing = effects.install->index;
    if (trace) trace(number, effects);
  }

  static void harden(Server& s, const LogWrite& write) {
    s.disk.apply(write);
    if (write.hard_state) s.hard_state = *write.hard_state;
    s.write_seq = write.write_seq;
    if (s.core && !s.core->status().is_damaged) s.is_damaged = false;
  }

  void on_resolved(int number, const Resolution& one) {
    if (open_tokens.erase(one.token) == 0) return fail("token " + std::to_string(one.token) + " came back twice");
    if (one.outcome != Outcome::committed || one.index == 0) {
      if (one.outcome != Outcome::committed && one.outcome != Outcome::uncertain) note_refused(one.token);
      return;
    }
    const Server& s = servers.at(number);
    const Entry* entry = s.log.at(one.index);
    if (!entry) return fail("an entry was acknowledged that is not in the log");
    acknowledged_ = std::max(acknowledged_, one.index);
    note_committed(*entry, number);
    if (!is_disk_lost && s.core->membership().index <= one.index && !is_on_quorum(s.core->membership(), *entry)) {
      fail("index " + std::to_string(one.index) + " was acknowledged and is not on a quorum's disks");
    }
  }

  // Counted apart from quorum.h.
  bool is_on_quorum(const Membership& membership, const Entry& entry) const {
    const auto has = [&](const NodeId& id) {
      const auto other = servers.find(number_of(id));
      return other != servers.end() &&
             (other->second.snapshot.index >= entry.index || other->second.disk.holds(entry.index, entry.term));
    };
    size_t voters = 0;
    size_t holders = 0;
    for (const Member& member : membership.members) {
      if (member.suffrage != Suffrage::voter) continue;
      ++voters;
      holders += has(member.id) ? 1 : 0;
    }
    const size_t old = static_cast<size_t>(std::ranges::count_if(membership.outgoing, has));
    return holders * 2 > voters && (membership.outgoing.empty() || old * 2 > membership.outgoing.size());
  }

  void on_read(const ReadReady& one) {
    const auto open = open_reads.find(one.token);
    if (open == open_reads.end()) return fail("read " + std::to_string(one.token) + " came back twice");
    if (one.outcome == Outcome::committed && one.index < open->second.second) {
      fail("read " + std::to_string(one.token) + " is stale: at " + std::to_string(one.index) + ", acknowledged was " +
           std::to_string(open->second.second));
    }
    open_reads.erase(open);
  }

  // A refused proposal never entered the log.
  void note_refused(uint64_t token) {
    refused_.insert(token);
    if (committed_tokens_.contains(token)) fail("token " + std::to_string(token) + " was refused and is committed");
  }

  // State-machine safety: at one index the same entry everywhere.
  void note_committed(const Entry& entry, int number) {
    const auto [at, is_new] = committed_.emplace(entry.index, std::pair(entry.term, std::string(entry.bytes())));
    if (!is_new && at->second != std::pair(entry.term, std::string(entry.bytes()))) {
      fail("server " + std::to_string(number) + " has another entry at " + std::to_string(entry.index));
    }
    const auto token = tokens_.find(std::string(entry.bytes()));
    if (!is_new || token == tokens_.end()) return;
    committed_tokens_.insert(token->second);
    if (refused_.contains(token->second))
      fail("token " + std::to_string(token->second) + " was refused, then committed");
  }

  // Leader completeness: a new leader has everything that was ever committed.
  void check_completeness(int number) {
    const Server& s = servers.at(number);
    for (const auto& [index, what] : committed_) {
      if (index < s.log.first) continue;
      if (!s.log.holds(index, what.first)) {
        return fail("leader " + std::to_string(number) + " lacks the committed entry " + std::to_string(index));
      }
    }
  }

  // Log matching: equal (index, term) means equal up to there.
  void check_matching(int a, const LogImage& left, int b, const LogImage& right) {
    bool is_equal = false;
    for (Index i = std::min(left.last(), right.last()); i >= std::max(left.first, right.first); --i) {
      const Entry& x = *left.at(i);
      const Entry& y = *right.at(i);
      if (x.term == y.term) is_equal = true;
      if (is_equal && (x.term != y.term || x.bytes() != y.bytes())) {
        return fail("logs of " + std::to_string(a) + " and " + std::to_string(b) + " differ below a match");
      }
    }
  }

  uint64_t next_token_ = 1;
  Index acknowledged_ = 0;
  std::map<Term, int> leaders_;
  std::map<Index, std::pair<Term, std::string>> committed_;
  std::map<std::string, uint64_t> tokens_;  // by payload
  std::set<uint64_t> refused_;
  std::set<uint64_t> committed_tokens_;
};

// Returns the failure; empty: none. random_test.cc
std::string run_at_random(uint64_t seed, int events);
// Empty: none. script_test.cc
std::string first_script_that_differs();

}  // namespace drover::raft
