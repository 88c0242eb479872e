// Chooses nodes for the allocations of one task group: the best of all nodes that can take it, exactly. Pure.
//
// One Placer serves one group through one pass. Each node is judged once; afterwards only nodes that changed are judged
// again, so that placing many allocations costs one look at every node and then a comparison of scores.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
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
#include "spread.h"

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
  std::vector<Neighbour>& neighbours;  // where allocations of the job are; the placers keep it up to date
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
  const v1::AllocMetric& failure() const { return alone_ ? *alone_ : tally_; }
  // The room or the neighbours on that node changed behind the placer's back.
  void changed(const std::string& node_id);

  const Feasibility& feasibility() const { return feasibility_; }

 private:
  // All that counts for or against a node; the score is the mean of it.
  struct Parts {
    double sum = 0;
    int count = 0;
    void add(double part) {
      sum += part;
      ++count;
    }
    double mean() const;
  };
  enum class Kind { unreachable, filtered, exhausted, fits };
  struct Verdict {
    Kind kind = Kind::unreachable;
    bool unfit = false;  // filtered whatever happens on the nodes
    std::string reason;
    double packing = 0;               // 0 to 1
    std::optional<double> devices{};  // -1 to 1: how well the best choice of them meets the affinities
    double affinity = 0;
    int collisions = 0;
    Parts parts{};    // of all that the wish does not say
    size_t cell = 0;  // of the spreads
    uint64_t order = 0;
  };
  // A node that could take the allocation, and who must leave it first.
  struct Rank {
    double score;
    uint64_t order;
    size_t at;
    bool operator<(const Rank& other) const {  // the better one first
      return score != other.score ? score > other.score : order < other.order;
    }
  };
  struct Way {
    size_t at;
    Verdict verdict;
    Preemption preemption;
  };

  Amount ask_of(const NodeRoom& room) const { return wants_cores_ ? room.ask_of(group_) : ask_; }
  Verdict judge_first(const ClusterNode& node);
  void judge(const ClusterNode& node, Verdict& verdict) const;
  double anti_affinity(const Verdict& verdict) const;
  void rate(const ClusterNode& node, const NodeRoom& room, Verdict& verdict) const;
  void count_neighbours();
  static void count(const Verdict& verdict, const v1::Node& node, int32_t sign, v1::AllocMetric& metric);
  void judge_again(size_t at);
  void after_change(size_t at);

  double score(const Verdict& verdict, bool penalised, double preemption, v1::NodeScoreMeta* meta) const;
  std::vector<Rank> best(const std::set<std::string>& penalised) const;
  std::vector<Rank> look_at(const std::string& node_id);
  std::optional<Choice> place_by_preemption(const std::string& alloc_id, const GroupPlacer::Wish& wish);
  std::optional<Way> way_into(size_t at) const;
  Choice take(const std::string& alloc_id, const std::vector<Rank>& ranks, const std::set<std::string>& penalised);
  Choice give(const std::string& alloc_id, size_t at, v1::AllocMetric metric);

  Surroundings& around_;
  const v1::Job& job_;
  const v1::TaskGroup& group_;
  const bool wants_devices_;
  const bool wants_cores_;
  const Amount ask_;  // where no task reserves cores
  const uint64_t seed_;
  Feasibility feasibility_;
  Distinct distinct_;
  Affinities affinities_;
  Spreads spreads_;
  std::unordered_map<std::string, int> collisions_;  // node → allocations of this group there
  std::vector<double> spread_scores_;                // by cell
  std::vector<Verdict> verdicts_;
  v1::AllocMetric tally_;                 // the metric of a placement made now, without its scores
  std::optional<v1::AllocMetric> alone_;  // the same where one node was asked for, or some must be left first
};

}  // namespace drover::scheduler
