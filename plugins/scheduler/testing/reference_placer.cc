#include "testing/reference_placer.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>

#include "drover/model/allocation.h"
#include "drover/model/constraint.h"
#include "drover/model/node.h"
#include "drover/uuid.h"
#include "placing/hash.h"

namespace drover::scheduler::testing {
namespace {

struct Verdict {
  enum class Kind { unreachable, filtered, exhausted, fits } kind = Kind::unreachable;
  std::string reason = {};
};

struct Rated {
  double norm = 0;  // rounded to 2^-32
  uint64_t order = 0;
  const v1::Node* node = nullptr;
  std::map<std::string, double> scores = {};
  std::set<std::string> evicted = {};

  bool operator<(const Rated& other) const { return norm != other.norm ? norm > other.norm : order < other.order; }
};

std::vector<const v1::Constraint*> constraints_of(const v1::Job& job, const v1::TaskGroup& group) {
  std::vector<const v1::Constraint*> all;
  for (const auto& one : job.constraints()) all.push_back(&one);
  for (const auto& one : group.constraints()) all.push_back(&one);
  for (const auto& task : group.tasks()) {
    for (const auto& one : task.constraints()) all.push_back(&one);
  }
  return all;
}

class Reference {
 public:
  Reference(const ReferenceWorld& world, const v1::Job& job, const v1::TaskGroup& group, const std::string& alloc_name)
      : world_(world), job_(job), group_(group), alloc_name_(alloc_name) {}

  ReferenceChoice place(const GroupPlacer::Wish& wish) const {
    if (!wish.preferred_node.empty() && wish.only_node.empty()) {
      GroupPlacer::Wish only = wish;
      only.only_node = wish.preferred_node;
      ReferenceChoice choice = place_somewhere(only, /*preempts=*/false);
      if (!choice.node_id.empty()) return choice;
    }
    return place_somewhere(wish, world_.rules.preempts && world_.importance != nullptr);
  }

 private:
  ReferenceChoice place_somewhere(const GroupPlacer::Wish& wish, bool preempts) const {
    ReferenceChoice choice;
    std::vector<Rated> rated;
    for (const v1::Node& node : world_.nodes) {
      if (!wish.only_node.empty() && node.id() != wish.only_node) continue;
      const Verdict verdict = judge(node);
      count(node, verdict, 1, choice.metric);
      if (in_pool(job_, node)) choice.metric.set_nodes_in_pool(choice.metric.nodes_in_pool() + 1);
      if (verdict.kind == Verdict::Kind::fits) rated.push_back(rate(node, room_of(node), wish, {}));
    }
    if (rated.empty() && preempts) {
      for (const v1::Node& node : world_.nodes) {
        if (!wish.only_node.empty() && node.id() != wish.only_node) continue;
        const Verdict verdict = judge(node);
        if (verdict.kind != Verdict::Kind::exhausted) continue;
        const auto preemption = preempt(node, room_of(node), group_, job_.priority(), candidates_on(node));
        if (!preemption || preemption->leaving.empty()) continue;
        count(node, verdict, -1, choice.metric);
        count(node, {Verdict::Kind::fits}, 1, choice.metric);
        rated.push_back(rate(node, preemption->room, wish, preemption->leaving));
      }
    }
    if (rated.empty()) return choice;
    std::sort(rated.begin(), rated.end());
    choice.node_id = rated[0].node->id();
    choice.evicted = rated[0].evicted;
    for (size_t i = 0; i < std::min<size_t>(rated.size(), 5); ++i) {
      v1::NodeScoreMeta& meta = *choice.metric.add_score_meta_data();
      meta.set_node_id(rated[i].node->id());
      meta.set_norm_score(rated[i].norm);
      for (const auto& [name, value] : rated[i].scores) (*meta.mutable_scores())[name] = value;
    }
    return choice;
  }

  NodeRoom room_of(const v1::Node& node) const {
    NodeRoom room(node);
    for (const v1::Allocation& alloc : world_.allocs) {
      if (alloc.node_id() == node.id()) room.add(usage_of(alloc.allocated_resources()));
    }
    return room;
  }
  std::vector<Candidate> candidates_on(const v1::Node& node) const {
    std::vector<Candidate> candidates;
    for (const v1::Allocation& alloc : world_.allocs) {
      if (alloc.node_id() != node.id() || is_own(alloc)) continue;
      auto holding = holding_of(alloc);
      const auto importance = world_.importance(*holding);
      if (!importance) continue;
      const auto evicted = world_.evicted.find({holding->name_space, holding->job_id, holding->group});
      candidates.push_back({.holding = holding,
                            .priority = importance->priority,
                            .max_parallel = importance->max_parallel,
                            .evicted = evicted == world_.evicted.end() ? 0 : evicted->second});
    }
    return candidates;
  }
  bool is_own(const v1::Allocation& alloc) const {
    return alloc.job_id() == job_.id() && alloc.namespace_() == job_.namespace_();
  }
  const v1::Node* node_of(const v1::Allocation& alloc) const {
    const auto at = std::ranges::find(world_.nodes, alloc.node_id(), &v1::Node::id);
    return at == world_.nodes.end() ? nullptr : &*at;
  }

  Verdict judge(const v1::Node& node) const {
    if (!in_reach(job_, node) || !accepts_work(node)) return {};
    Feasibility feasibility(job_, group_);
    feasibility.ask_for(alloc_name_);
    std::string reason = feasibility.check(node);
    if (reason.empty()) reason = storage(node);
    if (reason.empty()) reason = distinct(node);
    if (!reason.empty()) return {Verdict::Kind::filtered, reason};
    const NodeRoom room = room_of(node);
    reason = room.ports_exhausted(group_, node);
    if (reason.empty() && wants_devices(group_) && !choose_devices(node, group_, room.devices())) {
      reason = std::string(kNoDevices);
    }
    if (reason.empty() && room.cores_exhausted(group_)) reason = "cores";
    if (reason.empty()) reason = room.exhausted(room.ask_of(group_));
    if (!reason.empty()) return {Verdict::Kind::exhausted, reason};
    return {Verdict::Kind::fits};
  }

  // Volumes one after the other, in the order of the requests' names.
  std::string storage(const v1::Node& node) const {
    std::map<std::string, const v1::VolumeRequest*> requests;
    for (const auto& [name, request] : group_.volumes()) {
      if (request.type() == "csi") requests[name] = &request;
    }
    std::map<std::string, std::set<std::string>> brings;  // volumes that come to the node, by plugin
    for (const auto& [name, request] : requests) {
      const std::string problem = one_volume(node, *request, brings);
      if (!problem.empty()) return problem;
    }
    return {};
  }

  std::string one_volume(const v1::Node& node, const v1::VolumeRequest& request,
                         std::map<std::string, std::set<std::string>>& brings) const {
    std::string id = request.source();
    if (request.per_alloc()) id += alloc_name_.substr(alloc_name_.rfind('['));
    const auto row = std::ranges::find(world_.storage.volumes, id, &v1::CsiVolume::id);
    if (row == world_.storage.volumes.end()) return "missing CSI Volume " + id;
    const std::string& plugin = row->plugin_id();
    const std::string client = " client " + Uuid::from_bytes(node.id()).to_string();
    if (!node.csi_node_plugins().contains(plugin)) return "CSI plugin " + plugin + " is missing from" + client;
    const v1::CsiInfo& info = node.csi_node_plugins().at(plugin);
    if (!info.healthy()) return "CSI plugin " + plugin + " is unhealthy on" + client;
    std::set<std::string> there;
    for (const auto* claims : {&world_.storage.claims, &world_.own_claims}) {
      for (const v1::CsiClaim& claim : *claims) {
        if (claim.node_id() == node.id() && claim.plugin_id() == plugin) there.insert(claim.volume_id());
      }
    }
    there.insert(brings[plugin].begin(), brings[plugin].end());
    const bool is_there = there.contains(id);
    const auto limit = static_cast<size_t>(info.node_info().max_volumes());
    if (limit > 0 && !is_there && there.size() >= limit)
      return "CSI plugin " + plugin + " has the maximum number of volumes on" + client;
    brings[plugin].insert(id);
    return one_claim(*row, request);
  }

  std::string one_claim(const v1::CsiVolume& volume, const v1::VolumeRequest& request) const {
    int readers = 0, writers = 0;
    std::string collected;
    const auto add = [&](const v1::CsiClaim& claim, bool counts_own) {
      if (claim.volume_id() != volume.id()) return;
      const bool is_known = world_.storage.allocs.contains(claim.alloc_id());
      if (!counts_own && claim.job_id() == job_.id() && is_known) return;
      ++(claim.read_only() ? readers : writers);
      if (!counts_own && !is_known && collected.empty() && !claim.read_only()) collected = claim.alloc_id();
    };
    for (const v1::CsiClaim& claim : world_.storage.claims) add(claim, false);
    for (const v1::CsiClaim& claim : world_.own_claims) add(claim, true);
    const std::string what = "CSI volume " + volume.id();
    const bool is_single = request.access_mode() == "single-node-writer";
    if (request.read_only()) {
      return is_single && readers + writers > 0
                 ? what + " is unschedulable or has exhausted its available reader claims"
                 : "";
    }
    if (request.access_mode().ends_with("reader-only")) return what + " is unschedulable or is read-only";
    if (!is_single || writers == 0) return {};
    const std::string taken = what + " has exhausted its available writer claims";
    if (collected.empty()) return taken;
    return taken + " and is claimed by a garbage collected allocation " + Uuid::from_bytes(collected).to_string() +
           "; waiting for claim to be released";
  }

  std::string distinct(const v1::Node& node) const {
    for (const bool hosts : {true, false}) {
      for (const v1::Constraint* constraint : constraints_of(job_, group_)) {
        const bool whole_job =
            std::ranges::any_of(job_.constraints(), [&](const auto& one) { return &one == constraint; });
        if (hosts && constraint->operand() == "distinct_hosts") {
          const std::string& wish = constraint->r_target();
          if (!wish.empty() && !parse_bool(wish).value_or(true)) continue;
          for (const v1::Allocation& alloc : world_.allocs) {
            if (alloc.node_id() != node.id() || !is_own(alloc)) continue;
            if (whole_job || alloc.task_group() == group_.name()) return "distinct_hosts";
          }
        } else if (!hosts && constraint->operand() == "distinct_property") {
          const std::string& property = constraint->l_target();
          const auto value = resolve_target(property, node);
          if (!value) return "missing property \"" + property + "\"";
          int used = 0;
          for (const v1::Allocation& alloc : world_.allocs) {
            const v1::Node* there = node_of(alloc);
            if (!is_own(alloc) || server_terminal(alloc) || !there) continue;
            if (!whole_job && alloc.task_group() != group_.name()) continue;
            if (resolve_target(property, *there) == value) ++used;
          }
          const int allowed = constraint->r_target().empty() ? 1 : std::stoi(constraint->r_target());
          if (used >= allowed) {
            return "distinct_property: " + property + "=" + *value + " used by " + std::to_string(used) + " allocs";
          }
        }
      }
    }
    return {};
  }

  static void count(const v1::Node& node, const Verdict& verdict, int sign, v1::AllocMetric& metric) {
    const auto adjust = [&](auto& map, const std::string& key) {
      if ((map[key] += sign) == 0) map.erase(key);
    };
    if (verdict.kind == Verdict::Kind::unreachable) return;
    metric.set_nodes_evaluated(metric.nodes_evaluated() + sign);
    adjust(*metric.mutable_nodes_available(), node.datacenter());
    if (verdict.kind == Verdict::Kind::filtered) {
      metric.set_nodes_filtered(metric.nodes_filtered() + sign);
      adjust(*metric.mutable_constraint_filtered(), verdict.reason);
      if (!node.node_class().empty()) adjust(*metric.mutable_class_filtered(), node.node_class());
    } else if (verdict.kind == Verdict::Kind::exhausted) {
      metric.set_nodes_exhausted(metric.nodes_exhausted() + sign);
      adjust(*metric.mutable_dimension_exhausted(), verdict.reason);
      if (!node.node_class().empty()) adjust(*metric.mutable_class_exhausted(), node.node_class());
    }
  }

  double affinity(const v1::Node& node, bool& has_any) const {
    double sum = 0, total = 0;
    const auto add = [&](const auto& affinities) {
      for (const v1::Affinity& affinity : affinities) {
        v1::Constraint constraint;
        constraint.set_l_target(affinity.l_target());
        constraint.set_r_target(affinity.r_target());
        constraint.set_operand(affinity.operand());
        total += std::abs(affinity.weight());
        if (meets_constraint(constraint, node)) sum += affinity.weight();
      }
    };
    add(job_.affinities());
    add(group_.affinities());
    for (const v1::Task& task : group_.tasks()) add(task.affinities());
    has_any = total > 0;
    return total == 0 ? 0 : sum / total;
  }

  // Allocations of the group by value of an attribute.
  std::map<std::string, int> used_by_value(const std::string& attribute) const {
    std::map<std::string, int> used;
    for (const v1::Allocation& alloc : world_.allocs) {
      const v1::Node* there = node_of(alloc);
      if (!is_own(alloc) || alloc.task_group() != group_.name() || server_terminal(alloc) || !there) continue;
      if (const auto value = resolve_target(attribute, *there)) ++used[*value];
    }
    return used;
  }

  static double even_spread(const std::map<std::string, int>& used, const std::optional<std::string>& value) {
    if (used.empty()) return 0;
    if (!value) return -1;
    int least = std::numeric_limits<int>::max(), most = 0;
    for (const auto& [name, count] : used) {
      least = std::min(least, count);
      most = std::max(most, count);
    }
    const auto at = used.find(*value);
    const int here = at == used.end() ? 0 : at->second;
    if (here != least) return static_cast<double>(least - here) / least;
    return least == most ? -1 : static_cast<double>(most - least) / least;
  }

  // How much one more on a node of that value is wanted; nothing for a target of 0 %.
  std::optional<double> target_spread(const v1::Spread& spread, const std::string& value) const {
    double sum = 0;
    std::map<std::string, double> desired;
    for (const v1::SpreadTarget& target : spread.spread_target()) {
      desired[target.value()] = target.percent() / 100.0 * group_.count();
      sum += desired[target.value()];
    }
    if (sum > 0 && sum < group_.count() && !desired.contains("*")) desired["*"] = group_.count() - sum;
    const std::string key = desired.contains(value) ? value : "*";
    if (!desired.contains(key)) return -1;
    if (desired[key] == 0) return std::nullopt;
    int used = 0;
    for (const auto& [name, count] : used_by_value(spread.attribute())) {
      if ((desired.contains(name) ? name : "*") == key) used += count;
    }
    return (desired[key] - (used + 1)) / desired[key] * weight_share(spread);
  }
  double weight_share(const v1::Spread& spread) const {
    double weights = 0;
    for (const v1::Spread* one : spreads()) weights += weight_of(*one);
    return weights == 0 ? 0 : weight_of(spread) / weights;
  }
  static double weight_of(const v1::Spread& spread) { return spread.has_weight() ? spread.weight() : 50; }
  std::vector<const v1::Spread*> spreads() const {
    std::vector<const v1::Spread*> all;
    for (const auto& one : group_.spreads()) all.push_back(&one);
    for (const auto& one : job_.spreads()) all.push_back(&one);
    return all;
  }
  double spread(const v1::Node& node) const {
    // A target of 0 % counts as the lowest that any target of any block has.
    double lowest = -1;
    for (const v1::Spread* block : spreads()) {
      std::set<std::string> values;
      for (const v1::SpreadTarget& target : block->spread_target()) values.insert(target.value());
      values.insert("*");
      if (block->spread_target().empty()) continue;
      for (const std::string& value : values) {
        const auto boost = target_spread(*block, value);
        if (boost) lowest = std::min(lowest, *boost);
      }
    }
    double sum = 0;
    for (const v1::Spread* block : spreads()) {
      const auto value = resolve_target(block->attribute(), node);
      if (block->spread_target().empty()) {
        sum += even_spread(used_by_value(block->attribute()), value);
      } else {
        sum += value ? target_spread(*block, *value).value_or(lowest) : -1;
      }
    }
    return sum;
  }

  Rated rate(const v1::Node& node, const NodeRoom& room, const GroupPlacer::Wish& wish,
             const std::vector<Candidate>& leaving) const {
    Rated rated{.order = tie_order(stable_hash(node.id()), stable_hash(world_.seed)), .node = &node};
    double sum = 0;
    int count = 0;
    const auto add = [&](const char* name, double part, bool counts, bool shown) {
      if (shown) rated.scores[name] = part;
      if (!counts) return;
      sum += part;
      ++count;
    };
    const Amount ask = room.ask_of(group_);
    add("binpack", (world_.rules.spreads ? room.spread(ask) : room.binpack(ask)) / 18, true, true);
    int collisions = 0;
    for (const v1::Allocation& alloc : world_.allocs) {
      collisions += alloc.node_id() == node.id() && is_own(alloc) && alloc.task_group() == group_.name();
    }
    add("job-anti-affinity", collisions == 0 ? 0 : -static_cast<double>(collisions + 1) / std::max(group_.count(), 1),
        collisions > 0, true);
    if (wants_devices(group_)) {
      const auto choice = choose_devices(node, group_, room.devices());
      if (choice && choice->preference) add("devices", *choice->preference, true, true);
    }
    const bool penalised = wish.penalised.contains(node.id());
    add("node-reschedule-penalty", penalised ? -1 : 0, penalised, true);
    bool has_affinities = false;
    const double liked = affinity(node, has_affinities);
    add("node-affinity", liked, liked != 0, liked != 0 || !has_affinities);
    const double boost = spread(node);
    add("allocation-spread", boost, boost != 0, boost != 0);
    if (!leaving.empty()) {
      add("preemption", preemption_score(leaving), true, true);
      for (const Candidate& one : leaving) rated.evicted.insert(one.holding->id);
    }
    rated.norm = std::nearbyint(sum / count * kResolution) / kResolution;
    return rated;
  }

  const ReferenceWorld& world_;
  const v1::Job& job_;
  const v1::TaskGroup& group_;
  const std::string alloc_name_;
};

// A metric has the first few of the reasons that name a node.
void shorten(v1::AllocMetric& metric) {
  for (const std::string what : {"is missing from", "is unhealthy on", "has the maximum number of volumes on"}) {
    std::map<std::string, std::map<std::string, int32_t>> by_plugin;
    for (const auto& [text, count] : metric.constraint_filtered()) {
      const size_t at = text.find(" " + what + " client ");
      if (at != std::string::npos) by_plugin[text.substr(0, at)][text] = count;
    }
    for (const auto& [plugin, counts] : by_plugin) {
      size_t named = 0;
      for (const auto& [text, count] : counts) {
        if (++named <= 16) continue;
        metric.mutable_constraint_filtered()->erase(text);
        (*metric.mutable_constraint_filtered())[plugin + " " + what + " clients beside these"] += count;
      }
    }
  }
}

}  // namespace

ReferenceChoice place_by_the_rules(const ReferenceWorld& world, const v1::Job& job, const v1::TaskGroup& group,
                                   const GroupPlacer::Wish& wish, const std::string& alloc_name) {
  ReferenceChoice choice = Reference(world, job, group, alloc_name).place(wish);
  shorten(choice.metric);
  return choice;
}

}  // namespace drover::scheduler::testing
