#include "place.h"

#include <algorithm>

#include "hash.h"

namespace drover::scheduler {
namespace {

constexpr size_t kScoresShown = 5;
constexpr double kPackingMax = 18;
constexpr double kResolution = 4294967296.0;  // scores nearer than 2^-32 are equal
constexpr const char* kNoDevices = "devices: no devices match request";
constexpr const char* kNone = "devices: no devices available";

template <typename Map>
void adjust(Map& map, const std::string& key, int32_t by) {
  if ((map[key] += by) == 0) map.erase(key);
}

}  // namespace

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
      wants_devices_(wants_devices(group)),
      wants_cores_(
          std::ranges::any_of(group.tasks(), [](const v1::Task& task) { return task.resources().cores() > 0; })),
      ask_(amount_of(group)),
      seed_(stable_hash(around.seed)),
      feasibility_(job, group),
      distinct_(job, group),
      affinities_(job, group),
      spreads_(job, group) {
  const Cluster& cluster = around_.cluster;
  count_neighbours();
  verdicts_.reserve(cluster.size());
  for (size_t at = 0; at < cluster.size(); ++at) {
    const ClusterNode& node = cluster.at(at);
    if (in_pool(job_, *node.node)) tally_.set_nodes_in_pool(tally_.nodes_in_pool() + 1);
    verdicts_.push_back(judge_first(node));
    count(verdicts_.back(), *node.node, 1, tally_);
  }
  if (!spreads_.empty()) spread_scores_ = spreads_.scores();
}

double Placer::Parts::mean() const {
  const double scaled = sum / count * kResolution;
  return static_cast<double>(static_cast<int64_t>(scaled + (scaled < 0 ? -0.5 : 0.5))) / kResolution;
}

void Placer::count_neighbours() {
  collisions_.clear();
  for (const Neighbour& neighbour : around_.neighbours) {
    if (neighbour.node && neighbour.group == group_.name()) ++collisions_[neighbour.node->id()];
  }
  if (!distinct_.empty()) distinct_.count(around_.neighbours);
  if (spreads_.empty()) return;
  spreads_.count(around_.neighbours);
  spread_scores_ = spreads_.scores();
}

Placer::Verdict Placer::judge_first(const ClusterNode& candidate) {
  const v1::Node& node = *candidate.node;
  Verdict verdict;
  if (!in_reach(job_, node) || !accepts_work(node)) return verdict;
  verdict.kind = Kind::filtered;
  verdict.reason = feasibility_.check(node);
  verdict.unfit = !verdict.reason.empty();
  if (verdict.unfit) return verdict;
  verdict.affinity = affinities_.score(node);
  if (!spreads_.empty()) verdict.cell = spreads_.cell_of(node);
  verdict.order = stable_hash(node.id(), seed_);
  judge(candidate, verdict);
  return verdict;
}

// Judges by the allocations that are there: ports, devices and cores come before what there is only more or less of.
void Placer::judge(const ClusterNode& candidate, Verdict& verdict) const {
  const v1::Node& node = *candidate.node;
  const NodeRoom& room = candidate.room;
  verdict.kind = Kind::filtered;
  verdict.reason = distinct_.empty() ? std::string() : distinct_.check(node);
  if (!verdict.reason.empty()) return;
  verdict.kind = Kind::exhausted;
  verdict.reason = room.ports_exhausted(group_, node);
  if (!verdict.reason.empty()) return;
  if (wants_devices_ && !choose_devices(node, group_, room.devices())) {
    verdict.reason = node.node_resources().devices().empty() ? kNone : kNoDevices;
    return;
  }
  if (wants_cores_ && room.cores_exhausted(group_)) {
    verdict.reason = "cores";
    return;
  }
  verdict.reason = room.exhausted(ask_of(room));
  if (verdict.reason.empty()) rate(candidate, room, verdict);
}

void Placer::rate(const ClusterNode& candidate, const NodeRoom& room, Verdict& verdict) const {
  const v1::Node& node = *candidate.node;
  verdict.kind = Kind::fits;
  const Amount ask = ask_of(room);
  verdict.packing = (around_.rules.spreads ? room.spread(ask) : room.binpack(ask)) / kPackingMax;
  if (wants_devices_) {
    const auto choice = choose_devices(node, group_, room.devices());
    verdict.devices = choice ? choice->preference : std::nullopt;
  }
  const auto at = collisions_.find(node.id());
  verdict.collisions = at == collisions_.end() ? 0 : at->second;
  verdict.parts = {};
  verdict.parts.add(verdict.packing);
  if (verdict.collisions > 0) verdict.parts.add(anti_affinity(verdict));
  if (verdict.devices) verdict.parts.add(*verdict.devices);
  if (verdict.affinity != 0) verdict.parts.add(verdict.affinity);
}

double Placer::anti_affinity(const Verdict& verdict) const {
  if (verdict.collisions == 0) return 0;
  return -static_cast<double>(verdict.collisions + 1) / std::max(group_.count(), 1);
}

void Placer::count(const Verdict& verdict, const v1::Node& node, int32_t sign, v1::AllocMetric& metric) {
  if (verdict.kind == Kind::unreachable) return;
  metric.set_nodes_evaluated(metric.nodes_evaluated() + sign);
  adjust(*metric.mutable_nodes_available(), node.datacenter(), sign);
  if (verdict.kind == Kind::filtered) {
    metric.set_nodes_filtered(metric.nodes_filtered() + sign);
    if (!node.node_class().empty()) adjust(*metric.mutable_class_filtered(), node.node_class(), sign);
    adjust(*metric.mutable_constraint_filtered(), verdict.reason, sign);
  } else if (verdict.kind == Kind::exhausted) {
    metric.set_nodes_exhausted(metric.nodes_exhausted() + sign);
    if (!node.node_class().empty()) adjust(*metric.mutable_class_exhausted(), node.node_class(), sign);
    adjust(*metric.mutable_dimension_exhausted(), verdict.reason, sign);
  }
}

void Placer::judge_again(size_t at) {
  const ClusterNode& node = around_.cluster.at(at);
  Verdict& verdict = verdicts_[at];
  if (verdict.kind == Kind::unreachable || verdict.unfit) return;
  count(verdict, *node.node, -1, tally_);
  judge(node, verdict);
  count(verdict, *node.node, 1, tally_);
}

// A value that must be distinct may have become free, or be used up, anywhere.
void Placer::after_change(size_t at) {
  if (distinct_.empty()) return judge_again(at);
  for (size_t other = 0; other < verdicts_.size(); ++other) {
    const Verdict& verdict = verdicts_[other];
    if (other == at) {
      judge_again(other);
    } else if (verdict.kind != Kind::unreachable && !verdict.unfit) {
      const std::string reason = distinct_.check(*around_.cluster.at(other).node);
      if (reason != (verdict.kind == Kind::filtered ? verdict.reason : "")) judge_again(other);
    }
  }
}

void Placer::changed(const std::string& node_id) {
  count_neighbours();
  if (const auto at = around_.cluster.index_of(node_id)) after_change(*at);
}

double Placer::score(const Verdict& verdict, bool penalised, double preemption, v1::NodeScoreMeta* meta) const {
  Parts parts = verdict.parts;
  if (penalised) parts.add(-1);
  const double spread = spread_scores_.empty() ? 0 : spread_scores_[verdict.cell];
  if (spread != 0) parts.add(spread);
  if (preemption > 0) parts.add(preemption);
  if (meta) {
    auto& scores = *meta->mutable_scores();
    scores["binpack"] = verdict.packing;
    scores["job-anti-affinity"] = anti_affinity(verdict);
    scores["node-reschedule-penalty"] = penalised ? -1 : 0;
    if (verdict.devices) scores["devices"] = *verdict.devices;
    if (affinities_.empty() || verdict.affinity != 0) scores["node-affinity"] = verdict.affinity;
    if (spread != 0) scores["allocation-spread"] = spread;
    if (preemption > 0) scores["preemption"] = preemption;
    meta->set_norm_score(parts.mean());
  }
  return parts.mean();
}

std::vector<Placer::Rank> Placer::best(const std::set<std::string>& penalised) const {
  std::vector<Rank> best;  // sorted, at most kScoresShown
  for (size_t at = 0; at < verdicts_.size(); ++at) {
    const Verdict& verdict = verdicts_[at];
    if (verdict.kind != Kind::fits) continue;
    const bool failed_here = !penalised.empty() && penalised.contains(around_.cluster.at(at).node->id());
    const Rank rank{score(verdict, failed_here, 0, nullptr), verdict.order, at};
    if (best.size() == kScoresShown && !(rank < best.back())) continue;
    best.insert(std::upper_bound(best.begin(), best.end(), rank), rank);
    if (best.size() > kScoresShown) best.pop_back();
  }
  return best;
}

std::vector<Placer::Rank> Placer::look_at(const std::string& node_id) {
  alone_.emplace();
  const auto at = around_.cluster.index_of(node_id);
  if (!at) return {};
  const v1::Node& node = *around_.cluster.at(*at).node;
  alone_->set_nodes_in_pool(in_pool(job_, node));
  count(verdicts_[*at], node, 1, *alone_);
  if (verdicts_[*at].kind != Kind::fits) return {};
  return {{.score = 0, .order = 0, .at = *at}};
}

std::optional<Choice> Placer::place(const std::string& alloc_id, const GroupPlacer::Wish& wish) {
  if (!wish.preferred_node.empty() && wish.only_node.empty()) {
    const std::vector<Rank> preferred = look_at(wish.preferred_node);
    if (!preferred.empty()) return take(alloc_id, preferred, wish.penalised);
  }
  alone_.reset();
  const std::vector<Rank> ranks = wish.only_node.empty() ? best(wish.penalised) : look_at(wish.only_node);
  if (!ranks.empty()) return take(alloc_id, ranks, wish.penalised);
  if (!around_.rules.preempts || !around_.importance) return std::nullopt;
  return place_by_preemption(alloc_id, wish);
}

// The allocations that must leave the node so that the group fits, and how it rates then.
std::optional<Placer::Way> Placer::way_into(size_t at) const {
  if (verdicts_[at].kind != Kind::exhausted) return std::nullopt;
  const ClusterNode& node = around_.cluster.at(at);
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
  Way way{.at = at, .verdict = verdicts_[at], .preemption = *std::move(found)};
  rate(node, way.preemption.room, way.verdict);
  return way;
}

std::optional<Choice> Placer::place_by_preemption(const std::string& alloc_id, const GroupPlacer::Wish& wish) {
  const auto penalised = [&](size_t at) { return wish.penalised.contains(around_.cluster.at(at).node->id()); };
  v1::AllocMetric metric = failure();
  std::map<Rank, Way> ways;
  for (size_t at = 0; at < verdicts_.size(); ++at) {
    const v1::Node& node = *around_.cluster.at(at).node;
    if (!wish.only_node.empty() && node.id() != wish.only_node) continue;
    auto way = way_into(at);
    if (!way) continue;
    count(verdicts_[at], node, -1, metric);  // it is not exhausted any more
    count(way->verdict, node, 1, metric);
    const double preemption = preemption_score(way->preemption.leaving);
    const Rank rank{score(way->verdict, penalised(at), preemption, nullptr), way->verdict.order, at};
    ways.emplace(rank, *std::move(way));
    if (ways.size() > kScoresShown) ways.erase(std::prev(ways.end()));
  }
  if (ways.empty()) return std::nullopt;
  for (const auto& [rank, way] : ways) {
    v1::NodeScoreMeta& meta = *metric.add_score_meta_data();
    meta.set_node_id(around_.cluster.at(rank.at).node->id());
    score(way.verdict, penalised(rank.at), preemption_score(way.preemption.leaving), &meta);
  }
  const Way& chosen = ways.begin()->second;
  const std::string node_id = around_.cluster.at(chosen.at).node->id();
  std::vector<std::shared_ptr<const Holding>> evicted;
  for (const Candidate& one : chosen.preemption.leaving) {
    around_.cluster.remove(node_id, one.holding->id);
    ++around_.evicted[{one.holding->name_space, one.holding->job_id, one.holding->group}];
    evicted.push_back(one.holding);
  }
  Choice choice = give(alloc_id, chosen.at, std::move(metric));
  choice.evicted = std::move(evicted);
  return choice;
}

Choice Placer::take(const std::string& alloc_id, const std::vector<Rank>& ranks,
                    const std::set<std::string>& penalised) {
  v1::AllocMetric metric = failure();
  for (const Rank& rank : ranks) {
    v1::NodeScoreMeta& meta = *metric.add_score_meta_data();
    meta.set_node_id(around_.cluster.at(rank.at).node->id());
    score(verdicts_[rank.at], penalised.contains(meta.node_id()), 0, &meta);
  }
  return give(alloc_id, ranks.front().at, std::move(metric));
}

// Takes the room, which is there.
Choice Placer::give(const std::string& alloc_id, size_t at, v1::AllocMetric metric) {
  const ClusterNode& place = around_.cluster.at(at);
  const v1::Node& node = *place.node;
  Choice choice{.node = place.node, .resources = {}, .metric = std::move(metric), .evicted = {}};
  choice.resources = place.room.grant(group_, node, around_.rules.memory_max, alloc_id);
  if (wants_devices_) {
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
  if (distinct_.empty() && spreads_.empty()) {
    ++collisions_[choice.node->id()];
  } else {
    count_neighbours();
  }
  after_change(at);
  return choice;
}

}  // namespace drover::scheduler
