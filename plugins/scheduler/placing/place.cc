#include "place.h"

#include <algorithm>
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
      prospects_(around.cluster, around.neighbours, around.rules.spreads, around.seed, job, group, around.storage),
      others_(job, around.importance) {}

const v1::AllocMetric& Placer::failure() {
  failure_ = tally().metric();
  return failure_;
}

void Placer::changed(const std::string& node_id, const Neighbour* moved, int sign) {
  const auto slot = around_.cluster.slot_of(node_id);
  if (!slot) return;
  prospects_.changed(*slot, moved, sign);
  if (*slot < exits_.size()) exits_[*slot].reset();
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

std::optional<Choice> Placer::place(const std::string& alloc_id, const GroupPlacer::Wish& wish,
                                    std::string_view alloc_name) {
  prospects_.ask_for(alloc_name);
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

class Placer::Best {
 public:
  void add(const Rank& rank) {
    ranks_.insert(std::upper_bound(ranks_.begin(), ranks_.end(), rank), rank);
    if (ranks_.size() > kScoresShown) ranks_.pop_back();
  }
  // True when nothing of that score is among the best any more.
  bool excludes(double score) const { return ranks_.size() == kScoresShown && score < ranks_.back().score; }
  const std::vector<Rank>& ranks() const { return ranks_; }

 private:
  std::vector<Rank> ranks_;
};

Prospects::Extra Placer::extra_of(Slot slot, const GroupPlacer::Wish& wish, double preemption) const {
  const bool is_penalised = !wish.penalised.empty() && wish.penalised.contains(node_at(slot).node->id());
  return {.penalised = is_penalised, .preemption = preemption};
}

int32_t Placer::evicted_of(const Holding& holding) const {
  const auto at = around_.evicted.find({holding.name_space, holding.job_id, holding.group});
  return at == around_.evicted.end() ? 0 : at->second;
}

// The allocations that must leave the node so that the group fits, and how it rates then.
std::optional<Placer::Way> Placer::way_into(Slot slot) {
  const ClusterNode& node = node_at(slot);
  std::vector<Candidate> candidates;
  for (const auto& holding : node.holdings) {
    const auto group = others_.group_of(holding);
    if (!group) continue;
    const Importance& importance = *others_.at(*group).importance;
    candidates.push_back({.holding = holding,
                          .priority = importance.priority,
                          .max_parallel = importance.max_parallel,
                          .evicted = evicted_of(*holding)});
  }
  auto found = preempt(*node.node, node.room, group_, job_.priority(), std::move(candidates));
  if (!found || found->leaving.empty()) return std::nullopt;
  Prospects::Parts parts = prospects_.parts_after(slot, found->room);
  return Way{.parts = parts, .preemption = *std::move(found)};
}

bool Placer::add_way(Slot slot, const GroupPlacer::Wish& wish, Best& best) {
  const auto way = way_into(slot);
  if (!way) return false;
  const auto extra = extra_of(slot, wish, preemption_score(way->preemption.leaving));
  best.add({prospects_.score(way->parts, extra), prospects_.order_of(slot), slot});
  return true;
}

Placer::Exit& Placer::exit_of(Slot slot) {
  if (exits_.size() <= slot) exits_.resize(around_.cluster.blocks() * kSlots);
  if (exits_[slot]) return *exits_[slot];
  const ClusterNode& node = node_at(slot);
  Exit& exit = exits_[slot].emplace();
  for (const auto& holding : node.holdings) {
    const auto number = others_.group_of(holding);
    if (!number) continue;
    Others::Group& group = others_.at(*number);
    if (job_.priority() - group.importance->priority < kPriorityGap) continue;
    const int32_t evicted = around_.evicted.empty() ? 0 : evicted_of(*holding);
    exit.weights.push_back(
        {holding->usage.amount, group.importance->priority, group.importance->max_parallel, evicted});
    exit.groups.push_back(*number);
    if (group.importance->max_parallel > 0 && (group.slots.empty() || group.slots.back() != slot)) {
      group.slots.push_back(slot);
    }
  }
  const Offer offer(exit.weights);
  Amount over = node.room.used();
  over += node.room.ask_of(group_);
  over -= node.room.capacity();
  exit.is_enough = offer.is_enough(over);
  if (!exit.is_enough) return exit;
  Amount used = node.room.used();  // by those that stay: the most of them, or the fewest where the emptiest is the best
  used -= around_.rules.spreads ? offer.all : offer.least_to_leave(over);
  exit.packing = prospects_.packing_with(slot, used);
  exit.preemption = preemption_score(offer.lowest, offer.lowest);
  return exit;
}

// Chooses who leaves, as way_into() will.
void Placer::look_closer(Slot slot, Exit& exit) {
  const NodeRoom& room = node_at(slot).room;
  const Amount ask = room.ask_of(group_);
  Amount over = room.used(), used = room.used();
  over += ask;
  over -= room.capacity();
  const auto leaving = leave_for_amount(over, ask, exit.weights);
  exit.is_exact = true;
  double sum = 0, most = 0;
  for (const size_t at : *leaving) {
    used -= exit.weights[at].amount;
    sum += exit.weights[at].priority;
    most = std::max<double>(most, exit.weights[at].priority);
  }
  exit.packing = prospects_.packing_with(slot, used);
  exit.preemption = preemption_score(sum, most);
}

// Where some of a group were evicted, others of it are dearer: what was chosen among them is chosen anew.
void Placer::heed_evictions() {
  std::set<Slot> stale;
  for (; heeded_ < around_.evictions.size(); ++heeded_) {
    const auto& name = around_.evictions[heeded_];
    for (const uint32_t number : others_.find(name)) {
      for (const Slot slot : others_.at(number).slots) {
        if (!exits_[slot]) continue;
        Exit& exit = *exits_[slot];
        if (exit.is_exact) stale.insert(slot);
        for (size_t i = 0; i < exit.groups.size(); ++i) {
          if (exit.groups[i] == number) exit.weights[i].evicted = around_.evicted.at(name);
        }
      }
    }
  }
  for (const Slot slot : stale) look_closer(slot, *exits_[slot]);
}

// The best ways, exactly: nodes are looked at in the order of the best score that they could have, until those that are
// left cannot be among the best. `left`: loses all nodes into which there is a way.
void Placer::find_ways(const GroupPlacer::Wish& wish, Tally& left, Best& best) {
  constexpr double kRounding = 1;  // of powers, far below the resolution of scores
  heed_evictions();
  const auto score_of = [&](Slot slot, const Exit& exit) {
    return prospects_.score(prospects_.parts_with(slot, exit.packing), extra_of(slot, wish, exit.preemption));
  };
  std::vector<Open> open;
  for (const auto& [slot, finding] : prospects_.exhausted()) {
    bool has_way = false;
    if (prospects_.lacks_amount(finding)) {
      const Exit& exit = exit_of(slot);
      has_way = exit.is_enough;
      if (has_way) open.push_back({score_of(slot, exit) + (exit.is_exact ? 0 : kRounding), slot});
    } else {
      has_way = add_way(slot, wish, best);
    }
    if (has_way) left.refuse(finding, node_at(slot).node->node_class(), -1);
  }
  std::ranges::make_heap(open, {}, &Open::best);
  for (; !open.empty() && !best.excludes(open.front().best); open.pop_back()) {
    std::ranges::pop_heap(open, {}, &Open::best);
    const Slot slot = open.back().slot;
    Exit& exit = *exits_[slot];
    if (!exit.is_exact) look_closer(slot, exit);
    best.add({score_of(slot, exit), prospects_.order_of(slot), slot});
  }
}

std::optional<Choice> Placer::place_by_preemption(const std::string& alloc_id, const GroupPlacer::Wish& wish) {
  Tally left = tally();  // without those that are no longer exhausted
  Best best;
  if (wish.only_node.empty()) {
    find_ways(wish, left, best);
  } else if (const auto slot = around_.cluster.slot_of(wish.only_node)) {
    const Finding finding = prospects_.look_at(*slot);
    if (prospects_.reasons().is_exhausted(finding) && add_way(*slot, wish, best))
      left.refuse(finding, node_at(*slot).node->node_class(), -1);
  }
  if (best.ranks().empty()) return std::nullopt;
  v1::AllocMetric metric = left.metric();
  std::vector<Candidate> leaving;  // of the best
  for (const Rank& rank : best.ranks()) {
    auto way = way_into(rank.slot);
    const double preemption = preemption_score(way->preemption.leaving);
    prospects_.show(rank.slot, way->parts, extra_of(rank.slot, wish, preemption), metric);
    if (leaving.empty()) leaving = std::move(way->preemption.leaving);
  }
  const Slot chosen = best.ranks().front().slot;
  const std::string node_id = node_at(chosen).node->id();
  std::vector<std::shared_ptr<const Holding>> evicted;
  for (const Candidate& one : leaving) {
    around_.cluster.remove(node_id, one.holding->id);
    const auto& group =
        around_.evictions.emplace_back(one.holding->name_space, one.holding->job_id, one.holding->group);
    ++around_.evicted[group];
    evicted.push_back(one.holding);
  }
  Choice choice = give(alloc_id, chosen, std::move(metric));
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
  if (!prospects_.volumes().empty()) prospects_.volumes().take(alloc_id, choice.node->id());
  prospects_.changed(slot, &around_.neighbours.back(), 1);
  if (slot < exits_.size()) exits_[slot].reset();
  return choice;
}

}  // namespace drover::scheduler
