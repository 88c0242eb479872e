// The check of a plan against the newest state, before it is done. Pure.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <set>
#include <string>
#include <unordered_map>
#include <vector>

#include "drover/scheduler.h"
#include "drover/v1/allocation.pb.h"
#include "drover/v1/commands.pb.h"
#include "drover/v1/deployment.pb.h"
#include "drover/v1/evaluation.pb.h"
#include "drover/v1/node.pb.h"
#include "placing/fit.h"

namespace drover::scheduler {

using Plan = Scheduler::Plan;

// The newest state as plans are checked against it: what earlier plans of the same batch took is counted.
class PlanState {
 public:
  struct Source {
    std::function<std::optional<v1::Node>(const std::string& node_id)> node;
    std::function<std::vector<v1::Allocation>(const std::string& node_id)> allocs;  // all on the node
    std::function<std::optional<v1::Allocation>(const std::string& alloc_id)> alloc;
  };
  explicit PlanState(Source source) : source_(std::move(source)) {}

  struct At {
    v1::Node node;
    NodeRoom room;
  };
  At* find(const std::string& node_id);  // null when the node is gone
  // The share that the allocation takes, while it is terminal on neither side.
  std::optional<Usage> held(const std::string& alloc_id) const;
  void ended(const std::string& alloc_id) { ended_.insert(alloc_id); }

 private:
  Source source_;
  std::unordered_map<std::string, std::optional<At>> nodes_;
  std::set<std::string> ended_;
};

struct CheckedPlan {
  struct Refusal {
    std::string node_id;
    std::string reason;
  };
  Plan plan;  // what may be done
  std::vector<Refusal> refused;
  bool full() const { return refused.empty(); }
};

// Takes what is accepted into `state`. Changes on a node that cannot take its placements are dropped with them, and its
// canaries leave their deployment. An allocation that is to be evicted and has ended already is left out.
CheckedPlan check_plan(Plan plan, PlanState& state);

}  // namespace drover::scheduler
