// Chooses nodes for the allocations of one task group: the best of all nodes that can take it, exactly. Pure.
//
// One Placer serves one group through one pass. The first placement looks at every node: what a kind of nodes shares is
// asked once a kind, and the rest of all nodes of a block at once (screen.h). Afterwards only what changed is looked at
// again, so that placing many allocations costs one look at every node and then a comparison of the blocks' best.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <tuple>
#include <unordered_map>
#include <vector>

#include "affinity.h"
#include "cluster.h"
#include "distinct.h"
#include "drover/scheduler.h"
#include "drover/v1/scheduler_config.pb.h"
#include "feasibility.h"
#include "preempt.h"
#include "screen.h"
#include "spread.h"
#include "tally.h"

namespace drover::scheduler {

// The operator's settings as they are for the jobs of one type.
struct PlacingRules {
  bool spreads = false;     // prefers the emptiest node to the fullest
  bool memory_max = false;  // tasks may have more memory than they reserve
  bool preempts = false;
};
PlacingRules rules_for(const v1::SchedulerConfiguration& config, const std::string& job_type);

// How important an allocation of another job is to preemption.
struct Importance {
  int32_t priority = 0;
  int32_t max_parallel = 0;  // of the migrate block
};
// Nothing when the job is not known any more: the allocation stays then.
using ImportanceOf = std::function<std::optional<Importance>(const Holding& holding)>;

// Shared by the placers of one evaluation. Requires: it outlives them.
struct Surroundings {
  Cluster& cluster;
  std::vector<Neighbour>& neighbours;  // where allocations of the job are; a placer adds what it places
  std::string seed;                    // decides between nodes that are equally good
  PlacingRules rules = {};
  ImportanceOf importance = {};
  std::map<std::tuple<std::string, std::string, std::string>, int32_t> evicted = {};  // by namespace, job, group
};

struct Choice {
  std::shared_ptr<const v1::Node> node;
  v1::AllocatedResources resources;
  v1::AllocMetric metric;
  std::vector<std::shared_ptr<const Holding>> evicted;  // have left the cluster already
};

class Placer {
 public:
  // Requires: all arguments outlive the placer; the job is in its canonical form.
  Placer(Surroundings& around, const v1::Job& job, const v1::TaskGroup& group);

  // Takes the room on the chosen node. Nothing when no node can take it; failure() says why.
  std::optional<Choice> place(const std::string& alloc_id, const GroupPlacer::Wish& wish);
  // Valid until the next call of a function that is not const.
  const v1::AllocMetric& failure();
  // The room on that node changed behind the placer's back. `moved`: with `sign` 1 it is a neighbour now, with -1 it is
  // none any more; null: the neighbours are the same.
  void changed(const std::string& node_id, const Neighbour* moved = nullptr, int sign = 0);

  // With what was found of every class of nodes.
  const Feasibility& feasibility();

 private:
  // What the nodes of a kind (or where something escapes the kind, one node) have in common for the group.
  struct Common {
    bool is_known = false;
    bool has_changed = false;        // with the last change of the neighbours
    Finding finding = kUnreachable;  // kFits: nothing speaks against them but room
    Finding used_up = kFits;         // a reason when a property that must be distinct is used up
    double affinity = 0;
    size_t cell = 0;  // of the spreads
    ScreenFactors factors{};
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
  // A node that could take the allocation, and who must leave it first.
  struct Way {
    Parts parts;
    Preemption preemption;
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
  PortAsk port_ask() const;
  Amount ask_of(const NodeRoom& room) const { return wants_cores_ ? room.ask_of(group_) : ask_.amount; }
  const ClusterNode& node_at(Slot slot) const { return around_.cluster.at(slot); }
  uint64_t order_of(Slot slot) const;

  Common& common_of(Slot slot);
  void learn(const v1::Node& example, Common& common);
  void learn_all();
  void learn_again();
  Finding used_up(const v1::Node& example);
  double spread_of(const Common& common) const;
  bool take_spread(Common& common) const;

  void screen_all();
  void screen_block(size_t index);
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
  void after_change(Slot slot, const Neighbour* moved, int sign);

  Parts parts_at(Slot slot);
  Parts parts_after(Slot slot, const NodeRoom& room);  // some have left
  Parts parts_of(Slot slot, const NodeRoom& room, double cpu_power, double memory_power);
  double anti_affinity(const Parts& parts) const;
  double score(const Parts& parts, const Extra& extra) const;
  void show(Slot slot, const Parts& parts, const Extra& extra, v1::AllocMetric& metric) const;

  std::vector<Rank> best(const std::set<std::string>& penalised);
  std::vector<Rank> best_of_all();
  void look_up_best(size_t index);
  std::vector<Rank> look_at(const std::string& node_id);
  std::vector<std::pair<Slot, Finding>> exhausted(const std::string& only_node);
  std::optional<Way> way_into(Slot slot);
  std::optional<Choice> place_by_preemption(const std::string& alloc_id, const GroupPlacer::Wish& wish);
  Choice take(const std::string& alloc_id, const std::vector<Rank>& ranks, const std::set<std::string>& penalised);
  Choice give(const std::string& alloc_id, Slot slot, v1::AllocMetric metric);

  Surroundings& around_;
  const v1::Job& job_;
  const v1::TaskGroup& group_;
  const bool wants_devices_;
  const bool wants_cores_;
  const PortAsk ports_;
  const uint64_t seed_;
  ScreenAsk ask_;  // cores apart
  Feasibility feasibility_;
  Distinct distinct_;
  Affinities affinities_;
  Spreads spreads_;
  const bool escapes_kind_;
  std::unordered_map<const v1::Node*, int> collisions_;  // allocations of this group there
  std::vector<double> spread_scores_;                    // by cell
  std::vector<Common> common_;                           // by kind, or by slot
  Reasons reasons_;
  Tally tally_{reasons_};        // of all nodes
  std::optional<Tally> alone_;   // where one node was asked for
  bool spread_is_known_ = true;  // spread_scores_ fit the neighbours and have all cells
  bool learned_ = false, screened_ = false;
  std::vector<Block> blocks_;
  std::vector<uint64_t> singled_;     // by block: slots that are judged one by one, since neighbours are there
  std::unique_ptr<double[]> scores_;  // by slot; of those that fit
  v1::AllocMetric failure_;
};

}  // namespace drover::scheduler
