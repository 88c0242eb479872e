#include "tests/simulation/cluster/run.h"

#include <algorithm>
#include <utility>

#include "tests/simulation/check/linearizability.h"
#include "tests/simulation/check/sessions.h"
#include "tests/simulation/cluster/bare_node.h"
#include "tests/simulation/cluster/clients.h"
#include "tests/simulation/cluster/driven_node.h"
#include "tests/simulation/cluster/faults.h"

namespace drover::simulation {
namespace {

constexpr uint64_t kMaxSearchSteps = 3'000'000;
constexpr int kTimeoutsToRecover = 20;
constexpr Micros kSnapshotPatience = 40 * kSecond;  // the driver gives up one that is not answered after 15 s

const Trace* g_trace = nullptr;  // of the run under way, for events_under_way

class Run final : public Network::Receiver {
 public:
  Run(uint64_t seed, const Configuration& configuration, std::ostream* story)
      : configuration_(configuration),
        trace_(loop_, story),
        invariants_(servers()),
        conduct_(invariants_, configuration_, servers()),
        world_{.loop = loop_,
               .trace = trace_,
               .configuration = configuration_,
               .invariants = invariants_,
               .conduct = conduct_},
        network_(loop_, trace_, configuration_, seed, servers(), *this),
        clients_(world_, prepare(seed)),
        faults_(world_, seed) {
    g_trace = &trace_;
  }
  ~Run() override { g_trace = nullptr; }

  Outcome play(std::ostream* history);

  void receive_bulk(int to, raft::BulkMessage message) override {
    Node& node = *nodes_[static_cast<size_t>(to)];
    if (node.is_up()) node.receive_bulk(std::move(message));
  }
  void receive(int to, raft::Message message) override {
    Node& node = *nodes_[static_cast<size_t>(to)];
    if (!node.is_up()) return;
    trace_.note("gets {} from n{}: term {}, index {}", to, static_cast<uint64_t>(message.type),
                static_cast<uint64_t>(number_of(message.from)), message.term, message.log_index);
    node.receive(std::move(message));
  }
  void peer_changed(int node, int peer, bool is_reachable) override {
    nodes_[static_cast<size_t>(node)]->peer_changed(peer, is_reachable);
  }

 private:
  int servers() const { return static_cast<int>(configuration_.nodes + configuration_.joiners); }
  uint64_t prepare(uint64_t seed);
  bool play_until(Micros until, const std::function<bool()>& is_done);
  void relax(Micros timeout);
  void recover();
  void judge();
  const Node* leader() const;
  std::string unsettled() const;

  Configuration configuration_;
  EventLoop loop_;
  Trace trace_;
  Invariants invariants_;
  Conduct conduct_;
  World world_;
  Network network_;
  std::vector<std::unique_ptr<Node>> nodes_;
  Clients clients_;
  Faults faults_;
};

uint64_t Run::prepare(uint64_t seed) {
  world_.network = &network_;
  world_.nodes = &nodes_;
  world_.answer = [this](int node, const Request& request, Answer answer) { clients_.answered(node, request, answer); };
  world_.took_effect = [this](std::string_view command, const std::string& answer) {
    clients_.took_effect(command, answer);
  };
  raft::Membership first{.index = 1};
  for (int number = 0; number < configuration_.nodes; ++number) first.members.push_back({.id = id_of(number)});
  for (int number = 0; number < servers(); ++number) {
    if (configuration_.driver != 0) {
      nodes_.push_back(std::make_unique<DrivenNode>(world_, number, seed));
    } else {
      nodes_.push_back(std::make_unique<BareNode>(world_, number, seed));
    }
    if (number < configuration_.nodes) nodes_.back()->bootstrap(first);
  }
  return seed;
}

// False when a property broke or time ran out before it was done.
bool Run::play_until(Micros until, const std::function<bool()>& is_done) {
  while (!invariants_.is_broken()) {
    if (is_done && is_done()) return true;
    if (!loop_.step(until)) return !is_done;
  }
  return false;
}

const Node* Run::leader() const {
  const Node* found = nullptr;
  for (const std::unique_ptr<Node>& node : nodes_) {
    if (!node->is_up() || node->status().role != raft::Role::leader) continue;
    if (found == nullptr || node->status().term > found->status().term) found = node.get();
  }
  return found;
}

// One leader, whose membership is committed and not joint, and every voter of it that still has its disk equal to it.
std::string Run::unsettled() const {
  if (!clients_.is_idle()) return "a client has no answer";
  const Node* leads = leader();
  if (leads == nullptr) return "nobody leads";
  const raft::CoreStatus status = leads->status();
  if (status.commit_index < status.last_index)
    return "n" + std::to_string(leads->number()) + " leads and has entries that are not committed";
  const raft::Membership& membership = leads->committed_membership();
  if (!membership.outgoing.empty()) return "the membership is still joint";
  for (const raft::Member& member : membership.members) {
    const Node& node = *nodes_[static_cast<size_t>(number_of(member.id))];
    const std::string name = "n" + std::to_string(node.number());
    if (node.is_lost() || member.suffrage != raft::Suffrage::voter) continue;
    if (!node.is_up()) return name + " is down";
    if (&node != leads && node.status().role == raft::Role::leader) return name + " leads as well";
    if (node.status().commit_index != status.commit_index) return name + " has not committed what the leader has";
    if (const std::string what = node.unfinished(); !what.empty()) return name + " " + what;
    if (node.machine().hash() != leads->machine().hash()) return name + " has another state than the leader";
  }
  return {};
}

// Nothing is promised to clusters whose disks and links are slower than their timeouts.
void Run::relax(Micros timeout) {
  for (int64_t Configuration::*const slow : {&Configuration::delay, &Configuration::jitter, &Configuration::disk_write,
                                             &Configuration::apply_delay, &Configuration::inbox_delay}) {
    configuration_.*slow = std::min(configuration_.*slow, timeout / 50);
  }
  configuration_.apply_batch = 256;
  configuration_.think = std::max(configuration_.think, timeout / 10);
  configuration_.client_timeout = std::max(configuration_.client_timeout, 2 * timeout);
}

// After the faults: within twenty election timeouts one leader and all voters equal, and it serves.
void Run::recover() {
  faults_.heal();
  const Micros timeout = 2 * configuration_.tick * configuration_.election_ticks;
  relax(timeout);
  const Micros deadline = loop_.now() + kTimeoutsToRecover * timeout + 3 * configuration_.pause_length +
                          (configuration_.driver != 0 ? kSnapshotPatience : 0);
  clients_.resume();
  const auto serves = [this] {
    return clients_.answered_since_resume() >= static_cast<uint64_t>(configuration_.clients);
  };
  if (!play_until(deadline, serves)) {
    return invariants_.fail("liveness",
                            "twenty election timeouts after the faults clients are not served: " + unsettled());
  }
  clients_.finish();
  if (!play_until(deadline + kTimeoutsToRecover * timeout, [this] { return unsettled().empty(); }))
    invariants_.fail("liveness", "twenty election timeouts after the last request: " + unsettled());
}

void Run::judge() {
  const Judgement judgement = check_linearizability(clients_.settled_history(), kMaxSearchSteps);
  if (judgement.verdict == Verdict::bad) return invariants_.fail("linearizability", judgement.why);
  if (judgement.verdict == Verdict::unknown) return invariants_.fail("linearizability unknown", judgement.why);
  if (std::string broken = check_sessions(clients_.history()); !broken.empty())
    invariants_.fail("sessions", std::move(broken));
}

// One line, and one for each peer of a leader.
std::string describe(const Node& node) {
  std::string text = "n" + std::to_string(node.number());
  if (!node.is_up()) return text + (node.is_lost() ? ": lost its disk\n" : ": down\n");
  const raft::CoreStatus s = node.status();
  const auto add = [&text](const char* name, uint64_t value) { text += std::string(name) + std::to_string(value); };
  text += ": " + std::string(raft::to_string(s.role));
  add(" of term ", s.term);
  add(", log ", s.first_index);
  add(" to ", s.last_index);
  add(", durable ", s.durable_index);
  add(", committed ", s.commit_index);
  add(", applied ", node.machine().index());
  add(", snapshot ", s.snapshot_index);
  text += "\n";
  for (const raft::PeerStatus& peer : s.peers) {
    constexpr const char* kStates[] = {"probe", "replicate", "snapshot"};
    add("    n", static_cast<uint64_t>(number_of(peer.id)));
    text += std::string(": ") + kStates[static_cast<size_t>(peer.state)];
    add(", match ", peer.match);
    add(", next ", peer.next);
    add(", in flight ", peer.in_flight_messages);
    text += "\n";
  }
  return text;
}

Outcome Run::play(std::ostream* history) {
  for (const std::unique_ptr<Node>& node : nodes_) node->start();
  clients_.start();
  faults_.start();
  if (play_until(configuration_.duration, nullptr)) recover();
  if (!invariants_.is_broken()) judge();
  if (history != nullptr) write_history(clients_.history(), *history);
  Outcome outcome{.breach = invariants_.breach(),
                  .trace_hash = trace_.hash(),
                  .events = loop_.events(),
                  .operations = clients_.history().size(),
                  .entries = invariants_.committed(),
                  .virtual_us = loop_.now()};
  if (!outcome.is_good()) {
    outcome.last_events = trace_.last_events();
    for (const std::unique_ptr<Node>& node : nodes_) outcome.last_events += describe(*node);
  }
  return outcome;
}

}  // namespace

Outcome run(uint64_t seed, const Configuration& configuration, std::ostream* story, std::ostream* history) {
  Run run(seed, configuration, story);
  return run.play(history);
}

std::string events_under_way() { return g_trace == nullptr ? std::string() : g_trace->last_events(); }

}  // namespace drover::simulation
