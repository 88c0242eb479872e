#include "tests/simulation/cluster/faults.h"

#include <algorithm>
#include <cerrno>
#include <utility>

namespace drover::simulation {

void Faults::every(std::string_view name, int64_t mean, Strike strike) {
  if (mean == 0) return;
  struct Again {
    Faults* self;
    std::shared_ptr<Random> random;
    int64_t mean;
    Strike strike;
    void operator()() const {
      if (self->is_healed_) return;
      (self->*strike)(*random);
      self->world_.loop.after(random->exponential(mean), *this);
    }
  };
  auto random = std::make_shared<Random>(seed_, name);
  const Micros first = random->exponential(mean);
  world_.loop.after(first, Again{this, std::move(random), mean, strike});
}

void Faults::start() {
  const Configuration& c = world_.configuration;
  every("crash", c.crash_every, &Faults::crash);
  every("power cut", c.power_cut_every, &Faults::cut_power);
  every("blackout", c.blackout_every, &Faults::black_out);
  every("pause", c.pause_every, &Faults::pause);
  every("clock jump", c.clock_jump_every, &Faults::jump_clock);
  every("partition", c.partition_every, &Faults::part);
  every("reset", c.reset_every, &Faults::reset);
  every("malformed", c.malformed_every, &Faults::malform);
  every("slow disk", c.slow_disk_every, &Faults::slow_disk);
  every("hang", c.hang_every, &Faults::hang);
  every("write error", c.write_error_every, &Faults::fail_writes);
  every("sync error", c.sync_error_every, &Faults::fail_syncs);
  every("read error", c.read_error_every, &Faults::fail_reads);
  every("full", c.full_every, &Faults::fill);
  every("bit flip", c.bit_flip_every, &Faults::flip_bit);
  every("transfer", c.transfer_every, &Faults::transfer);
  every("membership", c.membership_every, &Faults::change_membership);
  every("snapshot", c.snapshot_every, &Faults::snapshot);
}

void Faults::heal() {
  is_healed_ = true;
  world_.trace.note("all faults end", Trace::kNobody);
  world_.network->heal();
  for (const std::unique_ptr<Node>& node : nodes()) {
    node->heal_disk();
    if (node->is_paused()) node->pause(world_.loop.now());
    if (!node->is_up()) node->start();
  }
}

Node* Faults::leader() {
  Node* newest = nullptr;
  for (const std::unique_ptr<Node>& node : nodes()) {
    if (!node->is_up() || node->status().role != raft::Role::leader) continue;
    if (newest == nullptr || node->status().term > newest->status().term) newest = node.get();
  }
  return newest;
}

// ---- servers ----

void Faults::start_later(Node& node, Random& random) {
  world_.loop.after(random.exponential(world_.configuration.down_time), [&node] { node.start(); });
}

void Faults::crash(Random& random) {
  Node* leads = leader();
  Node& node = leads != nullptr && random.chance(300'000) ? *leads : any(random);
  if (!node.is_up()) return;
  if (random.chance(200'000)) {
    node.stop();
  } else {
    node.crash(random.chance(600'000));
  }
  start_later(node, random);
}

// In the middle of whatever the disk does then.
void Faults::cut_power(Random& random) {
  Node& node = any(random);
  const uint64_t operations = 1 + random.below(12);
  if (!node.is_up()) return;
  world_.trace.note("its power will fail in {} operations of its disk", node.number(), operations);
  node.disk().files.crash_after(operations);
}

void Faults::black_out(Random& random) {
  world_.trace.note("the power fails everywhere", Trace::kNobody);
  for (const std::unique_ptr<Node>& node : nodes()) {
    if (node->is_up()) node->crash(true);
    start_later(*node, random);
  }
}

void Faults::pause(Random& random) {
  Node* leads = leader();
  Node& node = leads != nullptr && random.chance(400'000) ? *leads : any(random);
  node.pause(world_.loop.now() + random.exponential(world_.configuration.pause_length));
}

void Faults::jump_clock(Random& random) {
  Node& node = any(random);
  const Micros timeout = world_.configuration.tick * world_.configuration.election_ticks;
  node.clock().jump(world_.loop.now(), random.between(1, 2 * timeout));
  world_.trace.note("its clock jumps", node.number());
}

// ---- the network ----

void Faults::part(Random& random) {
  const auto count = static_cast<int>(nodes().size());
  const uint64_t kind = random.below(5);
  Node* leads = leader();
  const int alone = kind == 2 && leads != nullptr ? leads->number() : static_cast<int>(random.below(nodes().size()));
  const uint64_t side = random.next();  // a bit a server
  const auto is_left = [&](int node) { return (side >> node & 1) != 0; };
  world_.trace.note("the network parts: kind {}, n{}, sides {}", Trace::kNobody, kind, static_cast<uint64_t>(alone),
                    side & ((1u << count) - 1));
  world_.network->mend();
  for (int from = 0; from < count; ++from) {
    for (int to = 0; to < count; ++to) {
      bool is_cut = false;
      if (kind == 0) is_cut = is_left(from) != is_left(to);                      // halves
      if (kind == 1 || kind == 2) is_cut = from == alone || to == alone;         // one alone, perhaps the leader
      if (kind == 3) is_cut = from == alone || (is_left(from) && !is_left(to));  // one way
      if (kind == 4) is_cut = is_left(from) != is_left(to) && from != alone && to != alone;  // a bridge
      if (is_cut && from != to) world_.network->cut(from, to);
    }
  }
  world_.loop.after(random.exponential(world_.configuration.partition_length), [this, number = ++partition_] {
    if (number != partition_ || is_healed_) return;
    world_.trace.note("the network is whole again", Trace::kNobody);
    world_.network->mend();
  });
}

void Faults::reset(Random& random) {
  Node& one = any(random);
  Node& other = any(random);
  if (&one == &other) return;
  world_.trace.note("loses its connection with n{}", one.number(), static_cast<uint64_t>(other.number()));
  world_.network->reset(one.number(), other.number());
}

// From a peer that speaks a language of the future, or has a bug: never something that a sound peer could have meant.
void Faults::malform(Random& random) {
  Node& from = any(random);
  Node& to = any(random);
  const auto wrong = random.below(5);
  const uint64_t one = 1 + random.below(20);
  if (!to.is_up() || &from == &to) return;
  raft::Message message{
      .type = raft::MessageType::append, .from = from.id(), .to = to.id(), .term = one, .round = Conduct::kMalformed};
  const auto entry = [](raft::Index index, raft::Term term) {
    return raft::Entry{.index = index, .term = term, .type = raft::EntryType::noop};
  };
  if (wrong == 0) message.type = static_cast<raft::MessageType>(99);
  if (wrong == 1) message.term = 0;
  if (wrong == 2) message.entries = {entry(one, 1), entry(one + 2, 1)};
  if (wrong == 4) {  // a vote for a term that nobody campaigns in; the next one may be begun before it arrives
    message.type = raft::MessageType::vote_answer;
    message.term = to.status().term + 1000;
  }
  if (wrong == 3) message.entries = {entry(1, 1 + one), entry(2, one)};
  world_.trace.note("gets a malformed message of kind {}", to.number(), wrong);
  to.receive(std::move(message));
}

// ---- disks ----

void Faults::slow_disk(Random& random) {
  Node& node = any(random);
  const Micros length = random.exponential(10 * world_.configuration.tick);
  world_.trace.note("its disk becomes slow for {}", node.number(), static_cast<uint64_t>(length));
  node.disk().slow_until(world_.loop.now() + length);
}

void Faults::hang(Random& random) {
  Node* leads = leader();
  Node& node = leads != nullptr && random.chance(400'000) ? *leads : any(random);
  const Micros length = random.exponential(20 * world_.configuration.tick);
  world_.trace.note("its disk hangs for {}", node.number(), static_cast<uint64_t>(length));
  node.disk().hang_until(world_.loop.now() + length);
}

void Faults::fail_for(Random& random, void (raft::FaultFileSystem::*fail)(std::string, int), int error) {
  Node& node = any(random);
  const Micros length = random.exponential(world_.configuration.tick);
  const char* part = random.chance(700'000) ? "seg-" : "";
  world_.trace.note("operations of its disk fail with {} for {}", node.number(), static_cast<uint64_t>(error),
                    static_cast<uint64_t>(length));
  (node.disk().files.*fail)(part, error);
  world_.loop.after(length, [&node, fail] { (node.disk().files.*fail)("", 0); });
}

void Faults::fail_writes(Random& random) { fail_for(random, &raft::FaultFileSystem::fail_writes, EIO); }
void Faults::fail_syncs(Random& random) { fail_for(random, &raft::FaultFileSystem::fail_syncs, EIO); }
void Faults::fail_reads(Random& random) { fail_for(random, &raft::FaultFileSystem::fail_reads, EIO); }

void Faults::fill(Random& random) {
  Node& node = any(random);
  const uint64_t space = random.below(64 << 10);
  world_.trace.note("its disk has {} bytes left", node.number(), space);
  node.disk().files.set_space(space);
  world_.loop.after(random.exponential(10 * world_.configuration.tick),
                    [&node] { node.disk().files.set_space(UINT64_MAX); });
}

bool Faults::survives(const raft::Membership& membership, const Node* without) {
  const auto is_sound = [&](raft::NodeId id) {
    const int number = number_of(id);
    const Node& node = *nodes()[static_cast<size_t>(number)];
    return !node.is_damaged() && &node != without;
  };
  size_t voters = 0, sound = 0;
  for (const raft::Member& member : membership.members) {
    if (member.suffrage != raft::Suffrage::voter) continue;
    ++voters;
    sound += is_sound(member.id);
  }
  const auto old_sound = static_cast<size_t>(std::ranges::count_if(membership.outgoing, is_sound));
  return 2 * sound > voters && (membership.outgoing.empty() || 2 * old_sound > membership.outgoing.size());
}

void Faults::flip_bit(Random& random) {
  Node& node = any(random);
  Random where(random.next(), "place");
  const Node* leads = leader();
  if (leads == nullptr || !node.is_up() || node.is_damaged()) return;
  // A change that is under way could make a quorum of others.
  const raft::Membership& membership = leads->committed_membership();
  if (!membership.outgoing.empty() || !survives(membership, &node) || world_.configuration.membership_every != 0)
    return;
  node.damage(where);
}

// ---- the operator ----

void Faults::transfer(Random& random) {
  Node& to = any(random);
  const bool names_it = random.chance(700'000);
  if (Node* leads = leader()) leads->transfer(names_it ? to.id() : raft::NodeId());
}

void Faults::snapshot(Random& random) { any(random).take_snapshot(); }

// One server becomes a learner, a voter or nothing; or two of them at once.
void Faults::change_membership(Random& random) {
  using Edit = raft::MemberEdit;
  std::vector<Edit> edits;
  const uint64_t count = random.chance(300'000) ? 2 : 1;
  for (uint64_t i = 0; i < count; ++i) {
    Node& node = any(random);
    const auto kind = static_cast<Edit::Kind>(random.below(3));
    if (std::ranges::none_of(edits, [&](const Edit& edit) { return edit.id == node.id(); }))
      edits.push_back({.kind = kind, .id = node.id()});
  }
  Node* leads = leader();
  if (leads == nullptr) return;
  raft::Membership after = leads->committed_membership();
  for (const Edit& edit : edits) {
    const auto suffrage = edit.kind == Edit::Kind::add_voter ? raft::Suffrage::voter : raft::Suffrage::learner;
    std::erase_if(after.members, [&](const raft::Member& member) { return member.id == edit.id; });
    if (edit.kind != Edit::Kind::remove) after.members.push_back({.id = edit.id, .suffrage = suffrage});
    world_.trace.note("is asked to change n{}: {}", leads->number(), static_cast<uint64_t>(number_of(edit.id)),
                      static_cast<uint64_t>(edit.kind));
  }
  leads->change_membership(edits);
}

}  // namespace drover::simulation
