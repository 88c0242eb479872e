// The faults, and the operator's work meanwhile: each kind on a stream of random numbers of its own, so that one that
// is switched off leaves the others as they were. Faults that lose data hit fewer servers than could lose a quorum.
// Single-owner.
#pragma once

#include <functional>
#include <string_view>
#include <vector>

#include "tests/simulation/cluster/node.h"

namespace drover::simulation {

class Faults {
 public:
  Faults(World& world, uint64_t seed) : world_(world), seed_(seed) {}

  void start();
  // Ends all faults and repairs their damage: links, disks, servers that were down or stood still.
  void heal();

 private:
  using Strike = void (Faults::*)(Random&);
  struct Kind;
  void every(std::string_view name, int64_t mean, Strike strike);

  void crash(Random& random);
  void cut_power(Random& random);
  void black_out(Random& random);
  void pause(Random& random);
  void jump_clock(Random& random);
  void part(Random& random);
  void reset(Random& random);
  void malform(Random& random);
  void slow_disk(Random& random);
  void hang(Random& random);
  void fail_writes(Random& random);
  void fail_syncs(Random& random);
  void fail_reads(Random& random);
  void fill(Random& random);
  void flip_bit(Random& random);
  void transfer(Random& random);
  void change_membership(Random& random);
  void snapshot(Random& random);

  std::vector<std::unique_ptr<Node>>& nodes() { return *world_.nodes; }
  Node& any(Random& random) { return *nodes()[random.below(nodes().size())]; }
  Node* leader();
  void start_later(Node& node, Random& random);
  // True when the voters of this membership that have not lost their disk are a quorum, in each half, if `without`
  // loses it.
  bool survives(const raft::Membership& membership, const Node* without);
  void fail_for(Random& random, void (raft::FaultFileSystem::*fail)(std::string, int), int error);

  World& world_;
  const uint64_t seed_;
  bool is_healed_ = false;
  uint64_t partition_ = 0;
};

}  // namespace drover::simulation
