#include "board.h"

#include <algorithm>
#include <utility>

#include "drover/model/allocation.h"
#include "drover/model/job.h"

namespace drover::scheduler {

class ClusterBoard::OpenPlacer final : public GroupPlacer {
 public:
  OpenPlacer(ClusterBoard& board, const v1::Job& job, const v1::TaskGroup& group)
      : board_(board), placer_(std::make_unique<Placer>(board.around_, job, group)) {
    board_.open_.insert(this);
  }
  ~OpenPlacer() override { board_.open_.erase(this); }

  bool place(v1::Allocation& alloc, const Wish& wish) override {
    evicted_.clear();
    auto choice = placer_->place(alloc.id(), wish, alloc.name());
    if (!choice) return false;
    alloc.set_node_id(choice->node->id());
    alloc.set_node_name(choice->node->name());
    *alloc.mutable_allocated_resources() = std::move(choice->resources);
    *alloc.mutable_metrics() = std::move(choice->metric);
    for (const auto& holding : choice->evicted) {
      alloc.add_preempted_allocations(holding->id);
      evicted_.push_back(board_.evicted(holding, alloc.node_id()));
    }
    const Neighbour own = board_.neighbours_.back();
    board_.tell(alloc.node_id(), this, &own, 1);
    return true;
  }
  const v1::AllocMetric& failure() const override { return placer_->failure(); }
  const std::vector<const v1::Allocation*>& evicted() const override { return evicted_; }
  void describe(RoomWait& wait) const override {
    placer_->describe_storage(wait);
    const Feasibility& feasibility = placer_->feasibility();
    wait.escaped = wait.escaped || feasibility.escaped();
    if (wait.escaped) return wait.class_eligibility.clear();
    for (const auto& [name, can_do] : feasibility.classes()) {
      bool& eligible = wait.class_eligibility[name];
      eligible = eligible || can_do;
    }
  }
  void changed(const std::string& node_id, const Neighbour* moved, int sign) { placer_->changed(node_id, moved, sign); }

 private:
  ClusterBoard& board_;
  const std::unique_ptr<Placer> placer_;
  std::vector<const v1::Allocation*> evicted_;
};

ClusterBoard::ClusterBoard(Cluster cluster, std::span<const v1::Allocation> allocs, std::string seed,
                           PlacingRules rules, OtherJobs others, StorageRows storage)
    : cluster_(std::move(cluster)),
      storage_(cluster_, std::move(storage)),
      allocs_(allocs),
      others_(std::move(others)),
      around_{.cluster = cluster_,
              .neighbours = neighbours_,
              .seed = std::move(seed),
              .rules = rules,
              .storage = &storage_} {
  if (others_.job) around_.importance = [this](const Holding& holding) { return importance_of(holding); };
}

void ClusterBoard::visit_nodes(const std::function<void(const v1::Node& node)>& visit) const {
  cluster_.visit([&](const ClusterNode& node) { visit(*node.node); });
}

bool ClusterBoard::accepts_work(const v1::Node& node) const { return drover::accepts_work(node); }

bool ClusterBoard::reaches(const v1::Node& node, const v1::Job& job) const { return in_reach(job, node); }

bool ClusterBoard::suits(const v1::Node& node, const v1::Job& job, const v1::TaskGroup& group,
                         const std::string& alloc_name) const {
  if (!in_reach(job, node)) return false;
  if (!asked_ || asked_->job != &job || asked_->group != &group) asked_.emplace(Asked{&job, &group, {job, group}});
  asked_->feasibility.ask_for(alloc_name);
  return asked_->feasibility.check(node).empty();
}

std::optional<Importance> ClusterBoard::importance_of(const Holding& holding) {
  if (!holding.evictable) return std::nullopt;
  const v1::Job* job = others_.job(holding.name_space, holding.job_id, holding.job_version);
  if (!job) return std::nullopt;
  const v1::TaskGroup* group = find_group(*job, holding.group);
  return Importance{.priority = job->priority(), .max_parallel = group ? group->migrate().max_parallel() : 0};
}

const v1::Allocation* ClusterBoard::evicted(const std::shared_ptr<const Holding>& holding, const std::string& node_id) {
  std::optional<v1::Allocation> alloc;
  if (others_.alloc) alloc = others_.alloc(holding->id);
  v1::Allocation& row = evicted_.emplace_back(alloc ? *std::move(alloc) : v1::Allocation());
  row.set_id(holding->id);
  row.set_namespace_(holding->name_space);
  row.set_job_id(holding->job_id);
  row.set_task_group(holding->group);
  row.set_job_version(holding->job_version);
  row.set_node_id(node_id);
  return &row;
}

void ClusterBoard::tell(const std::string& node_id, const OpenPlacer* except, const Neighbour* moved, int sign) {
  for (OpenPlacer* placer : open_) {
    if (placer != except) placer->changed(node_id, moved, sign);
  }
}

bool ClusterBoard::is_of_job(const v1::Allocation& alloc) const {
  return !allocs_.empty() && alloc.job_id() == allocs_[0].job_id() && alloc.namespace_() == allocs_[0].namespace_();
}

void ClusterBoard::leave(const v1::Allocation& alloc) {
  if (client_terminal(alloc) || !left_.insert(alloc.id()).second) return;
  cluster_.remove(alloc.node_id(), alloc.id());
  if (!found_neighbours_) return;
  if (!is_of_job(alloc)) return tell(alloc.node_id(), nullptr);
  const Neighbour own = neighbour_of(alloc);
  const auto at = std::ranges::find(neighbours_, own);
  if (at != neighbours_.end()) {
    std::swap(*at, neighbours_.back());
    neighbours_.pop_back();
  }
  tell(alloc.node_id(), nullptr, &own, -1);
}

void ClusterBoard::come_back(const v1::Allocation& alloc) {
  if (left_.erase(alloc.id()) == 0) return;
  cluster_.add(alloc);
  if (!found_neighbours_) return;
  if (!is_of_job(alloc)) return tell(alloc.node_id(), nullptr);
  const Neighbour own = neighbour_of(alloc);
  neighbours_.push_back(own);
  tell(alloc.node_id(), nullptr, &own, 1);
}

Neighbour ClusterBoard::neighbour_of(const v1::Allocation& alloc) const {
  return {cluster_.find(alloc.node_id()), alloc.task_group(), server_terminal(alloc)};
}

void ClusterBoard::find_neighbours() {
  found_neighbours_ = true;
  for (const v1::Allocation& alloc : allocs_) {
    if (client_terminal(alloc) || left_.contains(alloc.id())) continue;
    neighbours_.push_back(neighbour_of(alloc));
  }
}

std::unique_ptr<GroupPlacer> ClusterBoard::open(const v1::Job& job, const v1::TaskGroup& group) {
  if (!found_neighbours_) find_neighbours();
  return std::make_unique<OpenPlacer>(*this, job, group);
}

}  // namespace drover::scheduler
