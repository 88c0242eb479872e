#include "place.h"

#include <utility>

#include "drover/model/node.h"

namespace drover::scheduler {

PlacingRules rules_for(const v1::SchedulerConfiguration& config, const std::string& job_type) {
  const v1::PreemptionConfig& preemption = config.preemption_config();
  const bool preempts = job_type == "system"     ? preemption.system_scheduler_enabled()
                        : job_type == "sysbatch" ? preemption.sys_batch_scheduler_enabled()
                        : job_type == "batch"    ? preemption.batch_scheduler_enabled()
                                                 : preemption.service_scheduler_enabled();
  return {.spreads = config.scheduler_algorithm() == "spread",
          .memory_max = config.memory_oversubscription_enabled(),
          .preempts = preempts};
}

Placer::Placer(Surroundings& around, const v1::Job& job, const v1::TaskGroup& group)
    : around_(around),
      job_(job),
      group_(group),
      prospects_(around.cluster, around.neighbours, around.rules.spreads, around.seed, job, group) {}

const v1::AllocMetric& Placer::failure() {
  failure_ = tally().metric();
  return failure_;
}

void Placer::changed(const std::string& node_id, const Neighbour* moved, int sign) {
  if (const auto slot = around_.cluster.slot_of(node_id)) prospects_.changed(*slot, moved, sign);
}

// One node, as if there were no other; nothing when it cannot be taken.
std::optional<Slot> Placer::look_at(const std::string& node_id) {
  alone_.emplace(prospects_.reasons());
  const auto slot = around_.cluster.slot_of(node_id);
  if (!slot) return std::nullopt;
  const v1::Node& node = *node_at(*slot).node;
  const Finding finding = prospects_.look_at(*slot);
  alone_->add_in_pool(in_pool(job_, node) ? 1 : 0);
  if (finding == kUnreachable) return std::nullopt;
  alone_->look_at(node.datacenter(), 1);
  alone_->refuse(finding, node.node_class(), 1);
  return finding == kFits ? slot : std::nullopt;
}

std::optional<Choice> Placer::place(const std::string& alloc_id, const GroupPlacer::Wish& wish) {
  for (const std::string* node : {&wish.only_node, &wish.preferred_node}) {
    if (node->empty()) continue;
    if (const auto slot = look_at(*node)) return take(alloc_id, {*slot}, wish.penalised);
    if (node == &wish.only_node) break;
  }
  if (wish.only_node.empty()) {
    alone_.reset();
    std::vector<Slot> slots;
    for (const Rank& rank : prospects_.best(wish.penalised)) slots.push_back(rank.slot);
    if (!slots.empty()) return take(alloc_id, slots, wish.penalised);
  }
  if (!around_.rules.preempts || !around_.importance) return std::nullopt;
  return place_by_preemption(alloc_id, wish);
}

// The allocations that must leave the node so that the group fits, and how it rates then.
std::optional<Placer::Way> Placer::way_into(Slot slot) {
  const ClusterNode& node = node_at(slot);
  std::vector<Candidate> candidates;
  for (const auto& holding : node.holdings) {
    if (holding->job_id == job_.id() && holding->name_space == job_.namespace_()) continue;
    const auto importance = around_.importance(*holding);
    if (!importance) continue;
    const auto evicted = around_.evicted.find({holding->name_space, holding->job_id, holding->group});
    candidates.push_back({.holding = holding,
                          .priority = importance->priority,
                          .max_parallel = importance->max_parallel,
                          .evicted = evicted == around_.evicted.end() ? 0 : evicted->second});
  }
  auto found = preempt(*node.node, node.room, group_, job_.priority(), std::move(candidates));
  if (!found || found->leaving.empty()) return std::nullopt;
  Prospects::Parts parts = prospects_.parts_after(slot, found->room);
  return Way{.parts = parts, .preemption = *std::move(found)};
}

std::optional<Choice> Placer::place_by_preemption(const std::string& alloc_id, const GroupPlacer::Wish& wish) {
  const auto extra_of = [&](Slot slot, const Way& way) {
    return Prospects::Extra{.penalised = wish.penalised.contains(node_at(slot).node->id()),
                            .preemption = preemption_score(way.preemption.leaving)};
  };
  std::vector<std::pair<Slot, Finding>> exhausted;
  if (wish.only_node.empty()) {
    exhausted = prospects_.exhausted();
  } else if (const auto slot = around_.cluster.slot_of(wish.only_node)) {
    const Finding finding = prospects_.look_at(*slot);
    if (prospects_.reasons().is_exhausted(finding)) exhausted.emplace_back(*slot, finding);
  }
  Tally left = tally();  // without those that are no longer exhausted
  std::map<Rank, Way> ways;
  for (const auto& [slot, finding] : exhausted) {
    auto way = way_into(slot);
    if (!way) continue;
    left.refuse(finding, node_at(slot).node->node_class(), -1);
    const double score = prospects_.score(way->parts, extra_of(slot, *way));
    ways.emplace(Rank{score, prospects_.order_of(slot), slot}, *std::move(way));
    if (ways.size() > kScoresShown) ways.erase(std::prev(ways.end()));
  }
  if (ways.empty()) return std::nullopt;
  v1::AllocMetric metric = left.metric();
  for (const auto& [rank, way] : ways) prospects_.show(rank.slot, way.parts, extra_of(rank.slot, way), metric);
  const auto& [best, chosen] = *ways.begin();
  const std::string node_id = node_at(best.slot).node->id();
  std::vector<std::shared_ptr<const Holding>> evicted;
  for (const Candidate& one : chosen.preemption.leaving) {
    around_.cluster.remove(node_id, one.holding->id);
    ++around_.evicted[{one.holding->name_space, one.holding->job_id, one.holding->group}];
    evicted.push_back(one.holding);
  }
  Choice choice = give(alloc_id, best.slot, std::move(metric));
  choice.evicted = std::move(evicted);
  return choice;
}

// `slots`: the best first; all of them are shown.
Choice Placer::take(const std::string& alloc_id, const std::vector<Slot>& slots,
                    const std::set<std::string>& penalised) {
  v1::AllocMetric metric = tally().metric();
  for (const Slot slot : slots) {
    const bool is_penalised = penalised.contains(node_at(slot).node->id());
    prospects_.show(slot, prospects_.parts_at(slot), {.penalised = is_penalised}, metric);
  }
  return give(alloc_id, slots.front(), std::move(metric));
}

// Takes the room, which is there.
Choice Placer::give(const std::string& alloc_id, Slot slot, v1::AllocMetric metric) {
  const ClusterNode& place = node_at(slot);
  const v1::Node& node = *place.node;
  Choice choice{.node = place.node, .resources = {}, .metric = std::move(metric), .evicted = {}};
  choice.resources = place.room.grant(group_, node, around_.rules.memory_max, alloc_id);
  if (wants_devices(group_)) {
    auto devices = choose_devices(node, group_, place.room.devices());
    for (auto& [task, device] : devices->grants) {
      *(*choice.resources.mutable_tasks())[task].add_devices() = std::move(device);
    }
  }
  around_.neighbours.push_back({&node, group_.name()});
  around_.cluster.add(choice.node->id(), std::make_shared<const Holding>(Holding{.id = alloc_id,
                                                                                 .name_space = job_.namespace_(),
                                                                                 .job_id = job_.id(),
                                                                                 .group = group_.name(),
                                                                                 .job_version = job_.version(),
                                                                                 .usage = usage_of(choice.resources)}));
  prospects_.changed(slot, &around_.neighbours.back(), 1);
  return choice;
}

}  // namespace drover::scheduler
