#include "explaining/why.h"

#include <algorithm>
#include <bit>
#include <map>
#include <optional>
#include <set>
#include <string_view>
#include <utility>
#include <vector>

#include "deciding/names.h"
#include "drover/api/why.pb.h"
#include "drover/model/allocation.h"
#include "drover/model/job.h"
#include "explaining/failures.h"

namespace drover::scheduler {
namespace {

constexpr size_t kNodesShown = 5;
constexpr size_t kChangesShown = 8;
constexpr int32_t kMaxPriority = 100;
// Beside 1, the cost of a whole part of the job.
constexpr double kCostOfOthers = 1.5, kCostOfANode = 2;

using Kind = Failure::Kind;

bool is_amount(Kind kind) {
  return kind == Kind::cpu || kind == Kind::memory || kind == Kind::disk || kind == Kind::cores;
}

const char* name_of(Kind kind) {
  switch (kind) {
    case Kind::node_pool:
      return "node_pool";
    case Kind::datacenter:
      return "datacenter";
    case Kind::node:
      return "node";
    case Kind::constraint:
      return "constraint";
    case Kind::driver:
      return "driver";
    case Kind::volume:
    case Kind::storage:
      return "volume";
    case Kind::device:
    case Kind::device_in_use:
      return "device";
    case Kind::network:
      return "network";
    case Kind::distinct:
      return "distinct";
    case Kind::port:
      return "port";
    case Kind::cores:
      return "cores";
    case Kind::cpu:
      return "cpu";
    case Kind::memory:
      return "memory";
    case Kind::disk:
      return "disk";
  }
  return "";
}

std::string remedy(const Failure& failure) {
  const std::string amount = std::to_string(failure.amount);
  switch (failure.kind) {
    case Kind::node_pool:
      return "run in " + failure.text;
    case Kind::datacenter:
      return "allow " + failure.text;
    case Kind::node:
      return failure.text == "the node takes no new work" ? "make the node eligible"
                                                          : "bring the node back: " + failure.text;
    case Kind::constraint:
      return "drop the constraint " + failure.text;
    case Kind::driver:
      return "have a healthy " + failure.text + " there";
    case Kind::volume:
      return "offer the host volumes there (client.host_volume, or drover volume create)";
    case Kind::storage:
      return failure.detail;
    case Kind::device:
      return "have the devices there";
    case Kind::device_in_use:
      return "free the devices";
    case Kind::network:
      return "have the network there: " + failure.text;
    case Kind::distinct:
      return "relax " + failure.text;
    case Kind::port:
      return (failure.detail.empty() ? "free a port: " : "free the port that " + failure.detail + " holds: ") +
             failure.text;
    case Kind::cores:
      return amount + (failure.amount == 1 ? " core less" : " cores less");
    case Kind::cpu:
      return amount + " MHz less CPU";
    case Kind::memory:
      return amount + " MB less memory";
    case Kind::disk:
      return amount + " MB less disk";
  }
  return "";
}

// A change that would find a place, and how cheap it is.
struct Change {
  std::string text, kind;
  int64_t amount = 0;
  int32_t nodes = 0;
  size_t steps = 1;  // changes that it consists of
  double share = 1;  // of what the group asks for, where it is an amount; more where it touches others than the job
  bool operator<(const Change& other) const {
    if (steps != other.steps) return steps < other.steps;
    if (share != other.share) return share < other.share;
    return nodes != other.nodes ? nodes > other.nodes : text < other.text;
  }
};

class Explanation {
 public:
  Explanation(const WhyInput& input, const v1::TaskGroup& group, v1::WhyResponse& response)
      : input_(input),
        group_(group),
        response_(response),
        distinct_(input.job, group),
        storage_(input.cluster, input.storage),
        alloc_name_(next_name()),
        finder_(input.job, group, distinct_, &storage_, alloc_name_) {
    for (const v1::Allocation& alloc : input.allocs) {
      if (client_terminal(alloc)) continue;
      const v1::Node* node = input.cluster.find(alloc.node_id());
      distinct_.add({node, alloc.task_group(), server_terminal(alloc)});
      if (runs_everywhere(input.job) && alloc.task_group() == group.name() && !server_terminal(alloc))
        served_.insert(node);
    }
  }

  void run() {
    for (size_t i = 0; i < input_.cluster.blocks(); ++i) {
      const ClusterBlock& block = input_.cluster.block(i);
      for (uint64_t left = block.live; left != 0; left &= left - 1) {
        const auto at = static_cast<size_t>(std::countr_zero(left));
        look_at(*block.nodes[at], (block.accepting >> at & 1) != 0, block.kind[at]);
      }
    }
    for (const auto& [text, reason] : reasons_) add_reason(text, reason);
    // Where nothing fits, less important allocations may still make room.
    if ((fitting_ > 0 || input_.rules.preempts) && show_best()) return;
    show_nearest();
    add_changes();
  }

 private:
  struct Near {
    size_t steps;
    double share;
    const ClusterNode* node;
    std::vector<Failure> failures;
    bool operator<(const Near& other) const { return steps != other.steps ? steps < other.steps : share < other.share; }
  };
  struct Reason {
    Kind kind;
    int32_t nodes = 0;
  };
  using Key = std::vector<std::pair<Kind, std::string>>;
  struct Less {  // looks up without a copy of the texts
    using is_transparent = void;
    bool operator()(const auto& a, const auto& b) const {
      return std::ranges::lexicographical_compare(a, b, [](const auto& one, const auto& other) {
        if (one.first != other.first) return one.first < other.first;
        return std::string_view(one.second) < std::string_view(other.second);
      });
    }
  };

  // How much of what the group asks for is missing, at most of one thing.
  double share_of(const std::vector<Failure>& failures, const NodeRoom& room) const {
    const Amount ask = finder_.ask_of(room);
    double most = 0;
    for (const Failure& failure : failures) {
      const int64_t whole = failure.kind == Kind::cpu      ? ask.cpu
                            : failure.kind == Kind::memory ? ask.memory_mb
                            : failure.kind == Kind::disk   ? ask.disk_mb
                                                           : failure.amount;
      const bool partly = is_amount(failure.kind) && whole > 0;
      most = std::max(most, partly ? static_cast<double>(failure.amount) / static_cast<double>(whole) : 1.0);
    }
    return most;
  }

  // The first that nobody has.
  std::string next_name() const {
    std::set<std::string_view> taken;
    for (const v1::Allocation& alloc : input_.allocs) {
      if (!terminal(alloc)) taken.insert(alloc.name());
    }
    for (int number = 0;; ++number) {
      std::string name = alloc_name(input_.job.id(), group_.name(), number);
      if (!taken.contains(name)) return name;
    }
  }

  void look_at(const ClusterNode& node, bool accepts, uint32_t kind) {
    if (!served_.empty() && served_.contains(node.node.get())) return;
    std::vector<Failure> failures = finder_.failures_of(node, accepts, kind);
    if (failures.empty()) {
      ++fitting_;
      return;
    }
    Reason& reason = reasons_.try_emplace(failures.front().text, Reason{failures.front().kind}).first->second;
    ++reason.nodes;
    std::vector<std::pair<Kind, std::string_view>> key;
    for (const Failure& failure : failures) key.emplace_back(failure.kind, failure.text);
    Near near{failures.size(), share_of(failures, node.room), &node, std::move(failures)};
    auto at = by_failures_.find(key);
    if (at == by_failures_.end()) at = by_failures_.try_emplace(Key(key.begin(), key.end()), Alike{0, near}).first;
    ++at->second.nodes;
    if (near < at->second.nearest) at->second.nearest = near;
    if (nearest_.size() < kNodesShown || near < nearest_.back()) {
      nearest_.insert(std::upper_bound(nearest_.begin(), nearest_.end(), near), near);
      if (nearest_.size() > kNodesShown) nearest_.pop_back();
    }
    if (std::ranges::all_of(near.failures,
                            [](const Failure& one) { return is_amount(one.kind) || one.kind == Kind::port; })) {
      note_priority(node);
    }
  }

  void add_reason(const std::string& text, const Reason& found) {
    v1::WhyReason& reason = *response_.add_reasons();
    reason.set_group(group_.name());
    reason.set_text(text);
    reason.set_nodes(found.nodes);
    if (is_amount(found.kind)) reason.set_dimension(text);
    if (found.kind == Kind::constraint) reason.set_constraint(text);
  }

  // As the placer sees it: one more is placed on a copy. False when there is no place.
  bool show_best() {
    Cluster copy(input_.cluster);
    for (const v1::Node* node : served_) {
      if (node) copy.erase_node(node->id());
    }
    ClusterBoard board(std::move(copy), input_.allocs, input_.job.id(), input_.rules, input_.others, input_.storage);
    const auto placer = board.open(input_.job, group_);
    v1::Allocation alloc;
    alloc.set_id(std::string(16, '\0'));
    alloc.set_name(alloc_name_);
    if (!placer->place(alloc, {})) return false;
    const int before = response_.best_size();
    add_best(alloc.metrics(), group_.name(), response_);
    for (int i = before; i < response_.best_size(); ++i) {
      v1::WhyNode& node = *response_.mutable_best(i);
      if (const v1::Node* row = input_.cluster.find(node.node_id())) node.set_node_name(row->name());
    }
    return true;
  }

  void show_nearest() {
    for (const Near& near : nearest_) {
      v1::WhyNode& node = *response_.add_best();
      node.set_group(group_.name());
      node.set_node_id(near.node->node->id());
      node.set_node_name(near.node->node->name());
      node.set_first_failure(near.failures.front().text);
      for (const Failure& failure : near.failures) {
        node.add_failures(failure.text + (failure.amount > 0 ? " (" + std::to_string(failure.amount) + " short)" : ""));
      }
    }
  }

  void add_changes() {
    std::vector<Change> changes;
    for (const auto& [key, alike] : by_failures_) {
      const Near& near = alike.nearest;
      Change change{.kind = near.failures.size() > 1 ? "several" : name_of(near.failures[0].kind),
                    .nodes = alike.nodes,
                    .steps = near.steps,
                    .share = near.share};
      for (const Failure& failure : near.failures)
        change.text += (change.text.empty() ? "" : ", and ") + remedy(failure);
      if (near.failures.size() == 1) change.amount = near.failures[0].amount;
      changes.push_back(std::move(change));
    }
    add_node_changes(changes);
    add_priority_change(changes);
    std::sort(changes.begin(), changes.end());
    for (size_t i = 0; i < std::min(changes.size(), kChangesShown); ++i) {
      v1::WhyChange& change = *response_.add_changes();
      change.set_group(group_.name());
      change.set_text(changes[i].text);
      change.set_kind(changes[i].kind);
      change.set_amount(changes[i].amount);
      change.set_nodes(changes[i].nodes);
    }
  }

  // An empty node of a kind that is there already, where that would do. What is unique to a node is not the kind's.
  void add_node_changes(std::vector<Change>& changes) {
    std::set<std::string> said;
    for (uint32_t number = 0; number < input_.cluster.kinds(); ++number) {
      const v1::Node* example = input_.cluster.example(number);
      if (!example) continue;
      v1::Node fresh = *example;
      fresh.set_id(std::string(16, '\0'));
      fresh.set_name("");
      for (const auto& [name, value] : example->attributes()) {
        if (name.starts_with("unique.")) fresh.mutable_attributes()->erase(name);
      }
      for (const auto& [name, value] : example->meta()) {
        if (name.starts_with("unique.")) fresh.mutable_meta()->erase(name);
      }
      fresh.set_status(v1::NODE_STATUS_READY);
      fresh.set_drain(false);
      fresh.set_scheduling_eligibility("eligible");
      const ClusterNode node{std::make_shared<const v1::Node>(fresh), NodeRoom(fresh), {}};
      if (!finder_.failures_of(node, /*accepts=*/true, std::nullopt).empty()) continue;
      std::string text = "one more node";
      if (!fresh.node_class().empty()) text += " of class " + fresh.node_class();
      text += " like those with " + std::to_string(node.room.capacity().cpu) + " MHz and " +
              std::to_string(node.room.capacity().memory_mb) + " MB in " + fresh.datacenter();
      if (!said.insert(text).second) continue;
      changes.push_back({.text = std::move(text), .kind = "add_node", .nodes = 1, .share = kCostOfANode});
    }
  }

  // The lowest priority of the job from which the others on the node would make room for it.
  void note_priority(const ClusterNode& node) {
    if (!input_.others.job) return;
    std::vector<std::pair<int32_t, const Holding*>> others;
    for (const auto& holding : node.holdings) {
      if (!holding->evictable) continue;
      if (holding->job_id == input_.job.id() && holding->name_space == input_.job.namespace_()) continue;
      const v1::Job* job = input_.others.job(holding->name_space, holding->job_id, holding->job_version);
      if (job) others.emplace_back(job->priority(), holding.get());
    }
    std::ranges::stable_sort(others, {}, &std::pair<int32_t, const Holding*>::first);
    NodeRoom room = node.room;
    for (const auto& [priority, holding] : others) {
      room.remove(holding->usage);
      const bool fits = room.ports_exhausted(group_, *node.node).empty() && !room.cores_exhausted(group_) &&
                        room.exhausted(room.ask_of(group_)).empty();
      if (!fits) continue;
      const int32_t wanted = priority + kPriorityGap;
      if (wanted > kMaxPriority) return;
      if (!priority_ || wanted < *priority_) priority_nodes_ = 0, priority_ = wanted;
      if (wanted == *priority_) ++priority_nodes_;
      return;
    }
  }

  void add_priority_change(std::vector<Change>& changes) const {
    if (!priority_) return;
    const bool is_enough = input_.job.priority() >= *priority_;
    if (is_enough && input_.rules.preempts) return;  // it would be placed
    Change change{.kind = "priority", .amount = *priority_, .nodes = priority_nodes_, .share = kCostOfOthers};
    if (!is_enough) change.text = "a priority of " + std::to_string(*priority_);
    if (!input_.rules.preempts) {
      change.text += (is_enough ? "" : " and ") + ("preemption for jobs of type " + input_.job.type());
      if (is_enough) change.kind = "preemption";
    }
    change.text += ", so that less important allocations make room";
    changes.push_back(std::move(change));
  }

  struct Alike {
    int32_t nodes;
    Near nearest;
  };

  const WhyInput& input_;
  const v1::TaskGroup& group_;
  v1::WhyResponse& response_;
  Distinct distinct_;
  Storage storage_;
  const std::string alloc_name_;  // of the one that would come
  FailureFinder finder_;
  std::set<const v1::Node*> served_;
  int32_t fitting_ = 0;
  std::map<std::string, Reason> reasons_;  // by text
  std::map<Key, Alike, Less> by_failures_;
  std::vector<Near> nearest_;  // sorted, at most kNodesShown
  std::optional<int32_t> priority_;
  int32_t priority_nodes_ = 0;
};

}  // namespace

void add_best(const v1::AllocMetric& metric, const std::string& group, v1::WhyResponse& response) {
  for (const v1::NodeScoreMeta& meta : metric.score_meta_data()) {
    v1::WhyNode& node = *response.add_best();
    node.set_group(group);
    node.set_node_id(meta.node_id());
    *node.mutable_scores() = meta.scores();
    (*node.mutable_scores())["final"] = meta.norm_score();
  }
}

std::vector<v1::WhyReason> reasons_of(const v1::AllocMetric& metric, const std::string& group) {
  std::vector<v1::WhyReason> reasons;
  const auto add = [&](const auto& counts, const auto& set_kind) {
    for (const auto& [text, nodes] : std::map<std::string, int32_t>(counts.begin(), counts.end())) {
      v1::WhyReason& reason = reasons.emplace_back();
      reason.set_group(group);
      reason.set_text(text);
      reason.set_nodes(nodes);
      set_kind(reason, text);
    }
  };
  add(metric.constraint_filtered(),
      [](v1::WhyReason& reason, const std::string& text) { reason.set_constraint(text); });
  add(metric.dimension_exhausted(), [](v1::WhyReason& reason, const std::string& text) { reason.set_dimension(text); });
  return reasons;
}

void explain_group(const WhyInput& input, const v1::TaskGroup& group, v1::WhyResponse& response) {
  Explanation(input, group, response).run();
}

}  // namespace drover::scheduler
