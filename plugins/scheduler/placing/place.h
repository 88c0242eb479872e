// Chooses nodes for the allocations of one task group: the best of all nodes that can take it, exactly. Pure.
//
// One Placer serves one group through one pass. The first placement looks at every node (prospects.h); afterwards only
// what changed is looked at again, so that placing many allocations costs one look at every node and then a comparison
// of the blocks' best.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <tuple>
#include <vector>

#include "cluster.h"
#include "drover/scheduler.h"
#include "drover/v1/scheduler_config.pb.h"
#include "preempt.h"
#include "prospects.h"

namespace drover::scheduler {

// The operator's settings as they are for the jobs of one type.
struct PlacingRules {
  bool spreads = false;     // prefers the emptiest node to the fullest
  bool memory_max = false;  // tasks may have more memory than they reserve
  bool preempts = false;
};
PlacingRules rules_for(const v1::SchedulerConfiguration& config, const std::string& job_type);

// Shared by the placers of one evaluation. Requires: it outlives them.
struct Surroundings {
  Cluster& cluster;
  std::vector<Neighbour>& neighbours;  // where allocations of the job are; a placer adds what it places
  std::string seed;                    // decides between nodes that are equally good
  PlacingRules rules = {};
  ImportanceOf importance = {};
  std::map<GroupName, int32_t> evicted = {};
  std::vector<GroupName> evictions = {};  // the same one by one
  Storage* storage = nullptr;             // null: there is none
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

  // Takes the room on the chosen node, and its claims. Nothing when no node can take it; failure() says why.
  // `alloc_name`: "job.group[3]"; matters where each allocation has a volume of its own.
  std::optional<Choice> place(const std::string& alloc_id, const GroupPlacer::Wish& wish,
                              std::string_view alloc_name = {});
  // Valid until the next call of a function that is not const.
  const v1::AllocMetric& failure();
  // Something on that node changed behind the placer's back. `moved`, `sign`: as Prospects::changed.
  void changed(const std::string& node_id, const Neighbour* moved = nullptr, int sign = 0);

  const Feasibility& feasibility() { return prospects_.feasibility(); }
  // Adds the storage that the last place() lacked.
  void describe_storage(RoomWait& wait) { prospects_.volumes().describe(wait); }

 private:
  using Rank = Prospects::Rank;
  // A node that could take the allocation, and who must leave it first.
  struct Way {
    Prospects::Parts parts;
    Preemption preemption;
  };
  // What is known of a node on which others might leave enough cpu, memory and disk. Bounds, until it was looked at.
  struct Exit {
    std::vector<Weight> weights;   // those that may leave
    std::vector<uint32_t> groups;  // theirs
    bool is_enough = false, is_exact = false;
    double packing = 0, preemption = 0;
  };
  struct Open {
    double best;  // score
    Slot slot;
  };
  // The best ranks, at most kScoresShown.
  class Best;

  const ClusterNode& node_at(Slot slot) const { return around_.cluster.at(slot); }
  const Tally& tally() const { return alone_ ? *alone_ : prospects_.tally(); }
  std::optional<Slot> look_at(const std::string& node_id);
  Prospects::Extra extra_of(Slot slot, const GroupPlacer::Wish& wish, double preemption) const;
  std::optional<Way> way_into(Slot slot);
  int32_t evicted_of(const Holding& holding) const;
  Exit& exit_of(Slot slot);
  void look_closer(Slot slot, Exit& exit);
  void heed_evictions();
  // False when there is no way into the node.
  bool add_way(Slot slot, const GroupPlacer::Wish& wish, Best& best);
  void find_ways(const GroupPlacer::Wish& wish, Tally& left, Best& best);
  std::optional<Choice> place_by_preemption(const std::string& alloc_id, const GroupPlacer::Wish& wish);
  Choice take(const std::string& alloc_id, const std::vector<Slot>& slots, const std::set<std::string>& penalised);
  Choice give(const std::string& alloc_id, Slot slot, v1::AllocMetric metric);

  Surroundings& around_;
  const v1::Job& job_;
  const v1::TaskGroup& group_;
  Prospects prospects_;
  Others others_;
  std::vector<std::optional<Exit>> exits_;  // by slot; those that are known
  size_t heeded_ = 0;                       // of the evictions
  std::optional<Tally> alone_;              // where one node was asked for
  v1::AllocMetric failure_;
};

}  // namespace drover::scheduler
