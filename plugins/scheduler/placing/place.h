// Chooses nodes for the allocations of one task group: the best of all nodes that can take it, exactly. Pure.
//
// One Placer serves one group through one pass. Each node is judged once; afterwards only nodes that changed are judged
// again, so that placing many allocations costs one look at every node and then a comparison of scores.
#pragma once

#include <memory>
#include <optional>
#include <set>
#include <string>
#include <unordered_map>
#include <vector>

#include "drover/scheduler.h"
#include "feasibility.h"
#include "fit.h"

namespace drover::scheduler {

struct ClusterNode {
  std::shared_ptr<const v1::Node> node;
  NodeRoom room;
};

// All nodes with what is taken of them, as one evaluation sees and changes them.
class Cluster {
 public:
  void add_node(std::shared_ptr<const v1::Node> node);
  // Adds the node or describes it anew; nothing is counted on it then.
  void put_node(std::shared_ptr<const v1::Node> node);
  void erase_node(const std::string& node_id);
  // Counts the allocation on its node; does nothing when the node is unknown.
  void add(const std::string& node_id, const v1::AllocatedResources& resources);
  void remove(const std::string& node_id, const v1::AllocatedResources& resources);

  const std::vector<ClusterNode>& nodes() const { return nodes_; }
  const v1::Node* find(const std::string& node_id) const;
  NodeRoom* room(const std::string& node_id);
  // Its place in nodes().
  std::optional<size_t> index_of(const std::string& node_id) const;

 private:
  std::vector<ClusterNode> nodes_;
  std::unordered_map<std::string, size_t> by_id_;
};

struct Choice {
  const v1::Node* node;
  v1::AllocatedResources resources;
  v1::AllocMetric metric;
};

class Placer {
 public:
  // `neighbours`: where allocations of the job are; shared by the placers of its groups and kept up to date here.
  // Requires: all arguments outlive the placer; the job is in its canonical form.
  Placer(Cluster& cluster, const v1::Job& job, const v1::TaskGroup& group, std::vector<Neighbour>& neighbours,
         std::string_view seed);

  // Takes the room on the chosen node. Nothing when no node can take it; failure() says why.
  std::optional<Choice> place(std::string_view alloc_id, const GroupPlacer::Wish& wish);
  const v1::AllocMetric& failure() const { return alone_ ? *alone_ : tally_; }
  // The room or the neighbours on that node changed behind the placer's back.
  void changed(const std::string& node_id);

  const Feasibility& feasibility() const { return feasibility_; }

 private:
  enum class Kind { unreachable, filtered, exhausted, fits };
  struct Verdict {
    Kind kind = Kind::unreachable;
    std::string reason;
    double binpack = 0;               // 0 to 1
    std::optional<double> devices{};  // -1 to 1: how well the best choice of them meets the affinities
    int collisions = 0;
    uint64_t order = 0;
  };

  struct Rank {
    double score;
    uint64_t order;
    size_t at;
    bool operator<(const Rank& other) const {  // the better one first
      return score != other.score ? score > other.score : order < other.order;
    }
  };

  Verdict judge(const ClusterNode& node);
  void count(const Verdict& verdict, const v1::Node& node, int32_t sign) { count(verdict, node, sign, tally_); }
  static void count(const Verdict& verdict, const v1::Node& node, int32_t sign, v1::AllocMetric& metric);
  std::vector<Rank> best(const std::set<std::string>& penalised) const;
  Choice take(std::string_view alloc_id, const std::vector<Rank>& ranks, const std::set<std::string>& penalised);
  // The node and no other.
  std::vector<Rank> look_at(const std::string& node_id);
  void judge_again(size_t at);
  double score(const Verdict& verdict, bool penalised, v1::NodeScoreMeta* meta) const;

  Cluster& cluster_;
  const v1::Job& job_;
  const v1::TaskGroup& group_;
  std::vector<Neighbour>& neighbours_;
  const std::string seed_;
  const Amount ask_;
  const bool wants_devices_;
  Feasibility feasibility_;
  std::unordered_map<std::string, int> collisions_;  // node → allocations of this group there
  std::vector<Verdict> verdicts_;
  v1::AllocMetric tally_;                 // the metric of a placement made now, without its scores
  std::optional<v1::AllocMetric> alone_;  // the same where one node was asked for
};

}  // namespace drover::scheduler
