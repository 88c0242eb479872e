// The prospects of a task group on every node: whether it can be taken, why not, how it rates. Pure; one owner.
//
//   kinds of nodes ──learn──▶ what their nodes have in common ──┐
//   blocks of 64 nodes ──screen──▶ findings, scores ◀──────────┘ ──▶ the best of all
//   a node that changed ──▶ judged anew, alone
//
// Nodes with neighbours (allocations of the job) are judged one by one, and where a group asks for devices, cores or
// storage all are; everything else is asked once a kind and once a block.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "affinity.h"
#include "cluster.h"
#include "distinct.h"
#include "feasibility.h"
#include "screen.h"
#include "spread.h"
#include "tally.h"
#include "volumes/volume_ask.h"

namespace drover::scheduler {

inline constexpr size_t kScoresShown = 5;

// True when the host networks of the group's ports depend on what is a node's own.
bool ports_escape_kind(const v1::TaskGroup& group);

class Prospects {
 public:
  // `spreads`: the emptiest node is the best. `seed`: decides between nodes that are equally good. `storage`: null
  // where there is none. Requires: cluster, storage, job and group outlive it; the job is in its canonical form.
  Prospects(const Cluster& cluster, std::span<const Neighbour> neighbours, bool spreads, std::string_view seed,
            const v1::Job& job, const v1::TaskGroup& group, Storage* storage = nullptr);

  // All that counts for or against a node; the score is the mean of it.
  struct Parts {
    double packing = 0;               // 0 to 1
    int collisions = 0;               // allocations of the group that are there
    std::optional<double> devices{};  // -1 to 1: how well the best choice of them meets the affinities
    double affinity = 0, spread = 0;
  };
  struct Extra {  // what the wish or its fulfilment adds
    bool penalised = false;
    double preemption = 0;
  };
  struct Rank {
    double score;
    uint64_t order;
    Slot slot;
    bool operator<(const Rank& other) const {  // the better one first
      return score != other.score ? score > other.score : order < other.order;
    }
  };

  // The questions that follow are about the allocation of that name; it may have volumes of its own.
  void ask_for(std::string_view alloc_name);
  // The best nodes, at most kScoresShown. `penalised`: nodes that count as worse.
  std::vector<Rank> best(const std::set<std::string>& penalised);
  // One node, without a look at the others.
  Finding look_at(Slot slot);
  // Nodes that have too little of something, and of what.
  std::vector<std::pair<Slot, Finding>> exhausted();

  Parts parts_at(Slot slot);
  Parts parts_after(Slot slot, const NodeRoom& room);  // some have left
  // True when nothing but an amount of cpu, memory or disk is missing, and nothing else depends on who leaves.
  bool lacks_amount(Finding finding) const;
  // Packing where so much is taken; and the parts with it, for a group of which lacks_amount() can be true.
  double packing_with(Slot slot, const Amount& used);
  Parts parts_with(Slot slot, double packing);
  double score(const Parts& parts, const Extra& extra) const;
  uint64_t order_of(Slot slot) const;
  // Adds the node's score, term by term.
  void show(Slot slot, const Parts& parts, const Extra& extra, v1::AllocMetric& metric) const;

  // The findings about all nodes that best() looked at.
  const Tally& tally() const { return tally_; }
  const Reasons& reasons() const { return reasons_; }
  // With what was found of every class of nodes.
  const Feasibility& feasibility();
  VolumeAsk& volumes() { return volumes_; }

  // The room of the node changed. `moved`: with `sign` 1 it is a neighbour now, with -1 it is none any more; null: the
  // neighbours are the same.
  void changed(Slot slot, const Neighbour* moved, int sign);

 private:
  // The answers that hold for all nodes of a kind (or for one node, where something escapes its kind).
  struct Common {
    bool is_known = false;
    bool has_changed = false;        // with the last change of the neighbours
    Finding finding = kUnreachable;  // kFits: nothing speaks against them but room
    Finding used_up = kFits;         // a reason when a property that must be distinct is used up
    double affinity = 0;
    size_t cell = 0;  // of the spreads
    ScreenFactors factors{};

    Finding shared() const { return finding != kFits ? finding : used_up; }
  };
  struct Found {
    uint64_t slots;
    Finding finding;
  };
  struct Block {
    std::vector<Found> found{};  // each slot once, but for those out of reach
    uint64_t fits = 0;           // a copy of what stands there
    double best = kNoScore;      // of those
    uint64_t best_order = 0;     // of the first among the best; 0: not looked up yet
  };
  // The ports that a group asks for, as far as columns can tell that they are free.
  struct PortAsk {
    bool any = false;
    bool plain = true;  // all on the default network, no static one of the dynamic range or twice
    int32_t count = 0;
    std::vector<int32_t> statics{};
    uint64_t bits = 0;  // port_bit() of the static ones
  };

  bool escapes_kind() const;
  bool is_alike(const ClusterBlock& nodes) const { return !escapes_kind_ && nodes.one_kind != ClusterBlock::kMixed; }
  bool judges_each() const { return wants_devices_ || wants_cores_ || !volumes_.empty(); }
  PortAsk port_ask() const;
  Amount ask_of(const NodeRoom& room) const { return wants_cores_ ? room.ask_of(group_) : ask_.amount; }
  const ClusterNode& node_at(Slot slot) const { return cluster_.at(slot); }

  Common& common_of(Slot slot);
  void learn(const v1::Node& example, Common& common);
  void learn_all();
  void forget();
  void learn_again();
  Finding used_up(const v1::Node& example);
  double spread_of(const Common& common) const;
  bool take_spread(Common& common) const;

  void screen_all();
  void screen_block(size_t index);
  void rate_block(size_t index);
  void screen_alike(const ClusterBlock& nodes, size_t index, uint64_t slots);
  void screen_mixed(const ClusterBlock& nodes, size_t index, uint64_t slots);
  void sort_by_room(const ClusterBlock& nodes, size_t index, uint64_t slots, const ScreenRoom& room);
  uint64_t ports_surely_free(const ClusterBlock& nodes, uint64_t slots) const;
  Finding find(Slot slot, const Common& common);
  void judge(Slot slot);
  void note(size_t index, uint64_t slots, Finding finding);
  void refuse(const ClusterBlock& nodes, uint64_t slots, Finding finding, int32_t sign);
  void note_best(size_t index);
  Finding finding_at(Slot slot) const;
  void look_again(Slot slot);
  void count_neighbour(const Neighbour& neighbour, int sign);

  Parts parts_of(Slot slot, const NodeRoom& room, double cpu_power, double memory_power);
  double anti_affinity(const Parts& parts) const;
  std::vector<Rank> best_of_all();
  void look_up_best(size_t index);

  const Cluster& cluster_;
  const v1::Job& job_;
  const v1::TaskGroup& group_;
  const bool wants_devices_;
  const bool wants_cores_;
  const PortAsk ports_;
  const uint64_t seed_;
  const ScreenAsk ask_;  // cores apart
  Feasibility feasibility_;
  VolumeAsk volumes_;
  Distinct distinct_;
  Affinities affinities_;
  Spreads spreads_;
  const bool escapes_kind_;
  std::unordered_map<const v1::Node*, int> collisions_;  // allocations of this group there
  std::vector<double> spread_scores_;                    // by cell
  std::vector<Common> common_;                           // by kind, or by slot
  Reasons reasons_;
  Tally tally_{reasons_};        // of all nodes
  bool spread_is_known_ = true;  // spread_scores_ fit the neighbours and have all cells
  bool learned_ = false, screened_ = false;
  std::vector<Block> blocks_;
  std::vector<uint64_t> singled_;     // by block: slots that are judged one by one, since neighbours are there
  std::unique_ptr<double[]> scores_;  // by slot; of those that fit
};

}  // namespace drover::scheduler
