// The board of one evaluation: a cluster, and where the allocations of its job are. Pure; one owner.
#pragma once

#include <memory>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "drover/scheduler.h"
#include "place.h"

namespace drover::scheduler {

class ClusterBoard final : public Board {
 public:
  // `cluster`: with every allocation that takes room. `allocs`: of the job; they outlive the board. `seed`: decides
  // between nodes that are equally good.
  ClusterBoard(Cluster cluster, std::span<const v1::Allocation> allocs, std::string seed)
      : cluster_(std::move(cluster)), allocs_(allocs), seed_(std::move(seed)) {}

  const v1::Node* node(const std::string& id) const override { return cluster_.find(id); }
  void visit_nodes(const std::function<void(const v1::Node& node)>& visit) const override;
  bool accepts_work(const v1::Node& node) const override;
  bool reaches(const v1::Node& node, const v1::Job& job) const override;
  bool suits(const v1::Node& node, const v1::Job& job, const v1::TaskGroup& group) const override;
  void leave(const v1::Allocation& alloc) override;
  void come_back(const v1::Allocation& alloc) override;
  std::unique_ptr<GroupPlacer> open(const v1::Job& job, const v1::TaskGroup& group) override;

 private:
  class OpenPlacer;
  bool is_of_job(const v1::Allocation& alloc) const;
  void find_neighbours();
  // Something on that node changed behind the back of all placers but one.
  void tell(const std::string& node_id, const OpenPlacer* except);

  Cluster cluster_;
  const std::span<const v1::Allocation> allocs_;
  const std::string seed_;
  std::set<std::string> left_;  // before the first placer was opened
  // Where the job's allocations are; from the first placer on.
  std::optional<std::vector<Neighbour>> neighbours_;
  std::set<OpenPlacer*> open_;
};

}  // namespace drover::scheduler
