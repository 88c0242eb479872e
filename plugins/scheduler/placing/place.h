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
  // Something on that node changed behind the placer's back. `moved`, `sign`: as Prospects::changed.
  void changed(const std::string& node_id, const Neighbour* moved = nullptr, int sign = 0);

  const Feasibility& feasibility() { return prospects_.feasibility(); }

 private:
  using Rank = Prospects::Rank;
  // A node that could take the allocation, and who must leave it first.
  struct Way {
    Prospects::Parts parts;
    Preemption preemption;
  };

  const ClusterNode& node_at(Slot slot) const { return around_.cluster.at(slot); }
  const Tally& tally() const { return alone_ ? *alone_ : prospects_.tally(); }
  std::optional<Slot> look_at(const std::string& node_id);
  std::optional<Way> way_into(Slot slot);
  std::optional<Choice> place_by_preemption(const std::string& alloc_id, const GroupPlacer::Wish& wish);
  Choice take(const std::string& alloc_id, const std::vector<Slot>& slots, const std::set<std::string>& penalised);
  Choice give(const std::string& alloc_id, Slot slot, v1::AllocMetric metric);

  Surroundings& around_;
  const v1::Job& job_;
  const v1::TaskGroup& group_;
  Prospects prospects_;
  std::optional<Tally> alone_;  // where one node was asked for
  v1::AllocMetric failure_;
};

}  // namespace drover::scheduler
