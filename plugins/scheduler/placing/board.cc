#include "board.h"

#include <algorithm>
#include <utility>

#include "drover/model/allocation.h"

namespace drover::scheduler {

class ClusterBoard::OpenPlacer final : public GroupPlacer {
 public:
  OpenPlacer(ClusterBoard& board, const v1::Job& job, const v1::TaskGroup& group)
      : board_(board), placer_(board.cluster_, job, group, *board.neighbours_, board.seed_) {
    board_.open_.insert(this);
  }
  ~OpenPlacer() override { board_.open_.erase(this); }

  bool place(v1::Allocation& alloc, const Wish& wish) override {
    auto choice = placer_.place(alloc.id(), wish);
    if (!choice) return false;
    alloc.set_node_id(choice->node->id());
    alloc.set_node_name(choice->node->name());
    *alloc.mutable_allocated_resources() = std::move(choice->resources);
    *alloc.mutable_metrics() = std::move(choice->metric);
    board_.tell(alloc.node_id(), this);
    return true;
  }
  const v1::AllocMetric& failure() const override { return placer_.failure(); }
  const std::vector<const v1::Allocation*>& evicted() const override { return evicted_; }
  void describe(RoomWait& wait) const override {
    const Feasibility& feasibility = placer_.feasibility();
    wait.escaped = wait.escaped || feasibility.escaped();
    for (const auto& [name, reason] : feasibility.classes()) {
      bool& eligible = wait.class_eligibility[name];
      eligible = eligible || reason.empty();
    }
  }
  void changed(const std::string& node_id) { placer_.changed(node_id); }

 private:
  ClusterBoard& board_;
  Placer placer_;
  std::vector<const v1::Allocation*> evicted_;
};

void ClusterBoard::visit_nodes(const std::function<void(const v1::Node& node)>& visit) const {
  for (const ClusterNode& node : cluster_.nodes()) visit(*node.node);
}

bool ClusterBoard::accepts_work(const v1::Node& node) const { return scheduler::accepts_work(node); }

bool ClusterBoard::reaches(const v1::Node& node, const v1::Job& job) const { return in_reach(job, node); }

bool ClusterBoard::suits(const v1::Node& node, const v1::Job& job, const v1::TaskGroup& group) const {
  return in_reach(job, node) && Feasibility(job, group).check(node).empty();
}

void ClusterBoard::tell(const std::string& node_id, const OpenPlacer* except) {
  for (OpenPlacer* placer : open_) {
    if (placer != except) placer->changed(node_id);
  }
}

bool ClusterBoard::is_of_job(const v1::Allocation& alloc) const {
  return !allocs_.empty() && alloc.job_id() == allocs_[0].job_id() && alloc.namespace_() == allocs_[0].namespace_();
}

void ClusterBoard::leave(const v1::Allocation& alloc) {
  if (terminal(alloc)) return;
  cluster_.remove(alloc.node_id(), alloc.allocated_resources());
  if (!neighbours_) {
    left_.insert(alloc.id());
    return;
  }
  const auto at = std::ranges::find_if(*neighbours_, [&](const Neighbour& neighbour) {
    return neighbour.node && neighbour.node->id() == alloc.node_id() && neighbour.group == alloc.task_group();
  });
  if (is_of_job(alloc) && at != neighbours_->end()) neighbours_->erase(at);
  tell(alloc.node_id(), nullptr);
}

void ClusterBoard::come_back(const v1::Allocation& alloc) {
  if (terminal(alloc)) return;
  cluster_.add(alloc.node_id(), alloc.allocated_resources());
  if (!neighbours_) {
    left_.erase(alloc.id());
    return;
  }
  if (is_of_job(alloc)) neighbours_->push_back({cluster_.find(alloc.node_id()), alloc.task_group()});
  tell(alloc.node_id(), nullptr);
}

void ClusterBoard::find_neighbours() {
  neighbours_.emplace();
  for (const v1::Allocation& alloc : allocs_) {
    if (terminal(alloc) || left_.contains(alloc.id())) continue;
    neighbours_->push_back({cluster_.find(alloc.node_id()), alloc.task_group()});
  }
}

std::unique_ptr<GroupPlacer> ClusterBoard::open(const v1::Job& job, const v1::TaskGroup& group) {
  if (!neighbours_) find_neighbours();
  return std::make_unique<OpenPlacer>(*this, job, group);
}

}  // namespace drover::scheduler
