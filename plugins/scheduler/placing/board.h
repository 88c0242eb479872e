// The board of one evaluation: a cluster, and where the allocations of its job are. Pure; one owner.
#pragma once

#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "drover/scheduler.h"
#include "place.h"

namespace drover::scheduler {

// The part of the snapshot that preemption reads. Without it nothing is preempted.
struct OtherJobs {
  // Null when the job is not known any more.
  std::function<const v1::Job*(const std::string& name_space, const std::string& id, uint64_t version)> job = {};
  std::function<std::optional<v1::Allocation>(const std::string& id)> alloc = {};
};

class ClusterBoard final : public Board {
 public:
  // `cluster`: with every allocation that takes room. `allocs`: of the job; they outlive the board. `seed`: decides
  // between nodes that are equally good. `storage`: what of it is in the state; without it there are no volumes.
  ClusterBoard(Cluster cluster, std::span<const v1::Allocation> allocs, std::string seed, PlacingRules rules = {},
               OtherJobs others = {}, StorageRows storage = {});

  const v1::Node* node(const std::string& id) const override { return cluster_.find(id); }
  void visit_nodes(const std::function<void(const v1::Node& node)>& visit) const override;
  bool accepts_work(const v1::Node& node) const override;
  bool reaches(const v1::Node& node, const v1::Job& job) const override;
  bool suits(const v1::Node& node, const v1::Job& job, const v1::TaskGroup& group,
             const std::string& alloc_name) const override;
  void leave(const v1::Allocation& alloc) override;
  void come_back(const v1::Allocation& alloc) override;
  std::unique_ptr<GroupPlacer> open(const v1::Job& job, const v1::TaskGroup& group) override;

  // As it stands now. Requires: no placer is open.
  Cluster take_cluster() && { return std::move(cluster_); }

 private:
  class OpenPlacer;
  bool is_of_job(const v1::Allocation& alloc) const;
  Neighbour neighbour_of(const v1::Allocation& alloc) const;
  void find_neighbours();
  std::optional<Importance> importance_of(const Holding& holding);
  const v1::Allocation* evicted(const std::shared_ptr<const Holding>& holding, const std::string& node_id);
  // Something on that node changed behind the back of all placers but one. `moved`, `sign`: as Placer::changed.
  void tell(const std::string& node_id, const OpenPlacer* except, const Neighbour* moved = nullptr, int sign = 0);

  // The last group that was asked about by suits(): it is asked for many nodes in a row.
  struct Asked {
    const v1::Job* job;
    const v1::TaskGroup* group;
    Feasibility feasibility;
  };

  Cluster cluster_;
  Storage storage_;
  mutable std::optional<Asked> asked_;
  const std::span<const v1::Allocation> allocs_;
  const OtherJobs others_;
  std::set<std::string> left_;
  // Where the job's allocations are; from the first placer on.
  std::vector<Neighbour> neighbours_;
  bool found_neighbours_ = false;
  Surroundings around_;
  std::deque<v1::Allocation> evicted_;
  std::set<OpenPlacer*> open_;
};

}  // namespace drover::scheduler
