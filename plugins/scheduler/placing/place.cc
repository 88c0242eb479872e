#include "place.h"

#include <algorithm>

#include "hash.h"

namespace drover::scheduler {
namespace {

constexpr size_t kScoresShown = 5;
constexpr double kBinpackMax = 18;
constexpr const char* kNoDevices = "devices: no devices match request";

template <typename Map>
void adjust(Map& map, const std::string& key, int32_t by) {
  if ((map[key] += by) == 0) map.erase(key);
}

}  // namespace

void Cluster::add_node(std::shared_ptr<const v1::Node> node) {
  by_id_[node->id()] = nodes_.size();
  NodeRoom room(*node);
  nodes_.push_back({std::move(node), std::move(room)});
}

void Cluster::put_node(std::shared_ptr<const v1::Node> node) {
  auto at = by_id_.find(node->id());
  if (at == by_id_.end()) return add_node(std::move(node));
  NodeRoom room(*node);
  nodes_[at->second] = {std::move(node), std::move(room)};
}

void Cluster::erase_node(const std::string& node_id) {
  auto at = by_id_.find(node_id);
  if (at == by_id_.end()) return;
  const size_t hole = at->second;
  by_id_.erase(at);
  if (hole + 1 < nodes_.size()) {
    nodes_[hole] = std::move(nodes_.back());
    by_id_[nodes_[hole].node->id()] = hole;
  }
  nodes_.pop_back();
}

void Cluster::add(const std::string& node_id, const v1::AllocatedResources& resources) {
  if (NodeRoom* at = room(node_id)) at->add(resources);
}

void Cluster::remove(const std::string& node_id, const v1::AllocatedResources& resources) {
  if (NodeRoom* at = room(node_id)) at->remove(resources);
}

const v1::Node* Cluster::find(const std::string& node_id) const {
  auto at = by_id_.find(node_id);
  return at == by_id_.end() ? nullptr : nodes_[at->second].node.get();
}

std::optional<size_t> Cluster::index_of(const std::string& node_id) const {
  auto at = by_id_.find(node_id);
  if (at == by_id_.end()) return std::nullopt;
  return at->second;
}

NodeRoom* Cluster::room(const std::string& node_id) {
  auto at = by_id_.find(node_id);
  return at == by_id_.end() ? nullptr : &nodes_[at->second].room;
}

Placer::Placer(Cluster& cluster, const v1::Job& job, const v1::TaskGroup& group, std::vector<Neighbour>& neighbours,
               std::string_view seed)
    : cluster_(cluster),
      job_(job),
      group_(group),
      neighbours_(neighbours),
      seed_(seed),
      ask_(amount_of(group)),
      wants_devices_(wants_devices(group)),
      feasibility_(job, group) {
  for (const Neighbour& neighbour : neighbours_) {
    if (neighbour.node && neighbour.group == group_.name()) ++collisions_[neighbour.node->id()];
  }
  verdicts_.reserve(cluster_.nodes().size());
  for (const ClusterNode& node : cluster_.nodes()) {
    if (in_pool(job_, *node.node)) tally_.set_nodes_in_pool(tally_.nodes_in_pool() + 1);
    verdicts_.push_back(judge(node));
    count(verdicts_.back(), *node.node, 1);
  }
}

Placer::Verdict Placer::judge(const ClusterNode& candidate) {
  const v1::Node& node = *candidate.node;
  Verdict verdict;
  if (!in_reach(job_, node) || !accepts_work(node)) return verdict;
  verdict.kind = Kind::filtered;
  verdict.reason = feasibility_.check(node);
  if (!verdict.reason.empty()) return verdict;
  verdict.reason = feasibility_.check_distinct(node, neighbours_);
  if (!verdict.reason.empty()) return verdict;
  verdict.kind = Kind::exhausted;
  verdict.reason = candidate.room.exhausted(ask_);
  if (verdict.reason.empty()) verdict.reason = candidate.room.ports_exhausted(group_);
  if (!verdict.reason.empty()) return verdict;
  if (wants_devices_) {
    const auto choice = choose_devices(node, group_, candidate.room.devices());
    if (!choice) {
      verdict.reason = kNoDevices;
      return verdict;
    }
    verdict.devices = choice->preference;
  }
  verdict.kind = Kind::fits;
  verdict.binpack = candidate.room.binpack(ask_) / kBinpackMax;
  if (auto at = collisions_.find(node.id()); at != collisions_.end()) verdict.collisions = at->second;
  verdict.order = stable_hash(node.id(), stable_hash(seed_));
  return verdict;
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
  const ClusterNode& node = cluster_.nodes()[at];
  count(verdicts_[at], *node.node, -1);
  verdicts_[at] = judge(node);
  count(verdicts_[at], *node.node, 1);
}

void Placer::changed(const std::string& node_id) {
  collisions_.clear();
  for (const Neighbour& neighbour : neighbours_) {
    if (neighbour.node && neighbour.group == group_.name()) ++collisions_[neighbour.node->id()];
  }
  for (size_t at = 0; at < verdicts_.size(); ++at) {
    // A value that must be distinct may have become free anywhere.
    if (feasibility_.has_distinct() || cluster_.nodes()[at].node->id() == node_id) judge_again(at);
  }
}

double Placer::score(const Verdict& verdict, bool penalised, v1::NodeScoreMeta* meta) const {
  double sum = verdict.binpack;
  int parts = 1;
  double anti_affinity = 0;
  if (verdict.collisions > 0) {
    anti_affinity = -static_cast<double>(verdict.collisions + 1) / std::max(group_.count(), 1);
    sum += anti_affinity;
    ++parts;
  }
  if (penalised) {
    sum -= 1;
    ++parts;
  }
  if (verdict.devices) {
    sum += *verdict.devices;
    ++parts;
  }
  const double mean = sum / parts;
  if (meta) {
    auto& scores = *meta->mutable_scores();
    scores["binpack"] = verdict.binpack;
    scores["job-anti-affinity"] = anti_affinity;
    scores["node-reschedule-penalty"] = penalised ? -1 : 0;
    if (verdict.devices) scores["devices"] = *verdict.devices;
    meta->set_norm_score(mean);
  }
  return mean;
}

std::vector<Placer::Rank> Placer::best(const std::set<std::string>& penalised) const {
  std::vector<Rank> best;  // sorted, at most kScoresShown
  for (size_t at = 0; at < verdicts_.size(); ++at) {
    const Verdict& verdict = verdicts_[at];
    if (verdict.kind != Kind::fits) continue;
    const bool failed_here = !penalised.empty() && penalised.contains(cluster_.nodes()[at].node->id());
    const Rank rank{score(verdict, failed_here, nullptr), verdict.order, at};
    if (best.size() == kScoresShown && !(rank < best.back())) continue;
    best.insert(std::upper_bound(best.begin(), best.end(), rank), rank);
    if (best.size() > kScoresShown) best.pop_back();
  }
  return best;
}

std::vector<Placer::Rank> Placer::look_at(const std::string& node_id) {
  alone_.emplace();
  const auto at = cluster_.index_of(node_id);
  if (!at) return {};
  const v1::Node& node = *cluster_.nodes()[*at].node;
  alone_->set_nodes_in_pool(in_pool(job_, node));
  count(verdicts_[*at], node, 1, *alone_);
  if (verdicts_[*at].kind != Kind::fits) return {};
  return {{.score = 0, .order = 0, .at = *at}};
}

std::optional<Choice> Placer::place(std::string_view alloc_id, const GroupPlacer::Wish& wish) {
  alone_.reset();
  const std::vector<Rank> ranks = wish.only_node.empty() ? best(wish.penalised) : look_at(wish.only_node);
  if (ranks.empty()) return std::nullopt;
  return take(alloc_id, ranks, wish.penalised);
}

Choice Placer::take(std::string_view alloc_id, const std::vector<Rank>& ranks, const std::set<std::string>& penalised) {
  const size_t chosen = ranks.front().at;
  Choice choice{.node = cluster_.nodes()[chosen].node.get(), .resources = {}, .metric = failure()};
  for (const Rank& rank : ranks) {
    v1::NodeScoreMeta& meta = *choice.metric.add_score_meta_data();
    meta.set_node_id(cluster_.nodes()[rank.at].node->id());
    score(verdicts_[rank.at], penalised.contains(meta.node_id()), &meta);
  }
  NodeRoom& room = *cluster_.room(choice.node->id());
  choice.resources = room.grant(group_, alloc_id);
  if (wants_devices_) {
    auto devices = choose_devices(*choice.node, group_, room.devices());
    for (auto& [task, device] : devices->grants)
      *(*choice.resources.mutable_tasks())[task].add_devices() = std::move(device);
  }
  room.add(choice.resources);
  neighbours_.push_back({choice.node, group_.name()});
  if (feasibility_.has_distinct()) {
    changed(choice.node->id());
  } else {
    ++collisions_[choice.node->id()];
    judge_again(chosen);
  }
  return choice;
}

}  // namespace drover::scheduler
