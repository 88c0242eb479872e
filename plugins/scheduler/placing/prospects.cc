#include "prospects.h"

#include <algorithm>
#include <array>
#include <bit>
#include <tuple>

#include "drover/model/node.h"
#include "drover/v1/allocation.pb.h"
#include "hash.h"

namespace drover::scheduler {
namespace {


uint64_t bit_of(Slot slot) { return uint64_t{1} << (slot % kSlots); }

template <typename Visit>
void visit_bits(uint64_t bits, Visit visit) {
  for (; bits != 0; bits &= bits - 1) visit(static_cast<size_t>(std::countr_zero(bits)));
}

}  // namespace

bool ports_escape_kind(const v1::TaskGroup& group) {
  const auto looks_at_one = [](const v1::Port& port) {
    return port.host_network().find("unique.") != std::string::npos;
  };
  return std::ranges::any_of(group.networks(), [&](const v1::NetworkResource& network) {
    return std::ranges::any_of(network.dynamic_ports(), looks_at_one) ||
           std::ranges::any_of(network.reserved_ports(), looks_at_one);
  });
}

Prospects::Prospects(const Cluster& cluster, std::span<const Neighbour> neighbours, bool spreads, std::string_view seed,
                     const v1::Job& job, const v1::TaskGroup& group, Storage* storage)
    : cluster_(cluster),
      job_(job),
      group_(group),
      wants_devices_(wants_devices(group)),
      wants_cores_(
          std::ranges::any_of(group.tasks(), [](const v1::Task& task) { return task.resources().cores() > 0; })),
      ports_(port_ask()),
      seed_(stable_hash(seed)),
      ask_{.amount = amount_of(group), .spreads = spreads},
      feasibility_(job, group),
      volumes_(job, group, storage),
      distinct_(job, group),
      affinities_(job, group),
      spreads_(job, group),
      escapes_kind_(escapes_kind()),
      common_(escapes_kind_ ? cluster.blocks() * kSlots : cluster.kinds()),
      singled_(cluster.blocks()) {
  for (const Neighbour& neighbour : neighbours) count_neighbour(neighbour, 1);
}

// True when two nodes of a kind may differ in what the group asks for.
bool Prospects::escapes_kind() const {
  if (wants_devices_ || feasibility_.escaped() || affinities_.escaped()) return true;
  if (distinct_.escapes_class() || spreads_.escapes_class()) return true;
  return ports_escape_kind(group_);
}

Prospects::PortAsk Prospects::port_ask() const {
  PortAsk ask;
  for (const v1::NetworkResource& network : group_.networks()) {
    for (const auto* ports : {&network.reserved_ports(), &network.dynamic_ports()}) {
      for (const v1::Port& port : *ports) {
        ask.any = true;
        ask.plain = ask.plain && port.host_network().empty();
        ++ask.count;
      }
    }
    for (const v1::Port& port : network.reserved_ports()) {
      ask.plain = ask.plain && std::ranges::find(ask.statics, port.value()) == ask.statics.end();
      ask.statics.push_back(port.value());
      ask.bits |= port_bit(port.value());
    }
  }
  return ask;
}

void Prospects::count_neighbour(const Neighbour& neighbour, int sign) {
  if (!neighbour.node) return;
  const auto slot = cluster_.slot_of(neighbour.node->id());
  if (slot) singled_[*slot / kSlots] |= bit_of(*slot);
  if (neighbour.group == group_.name()) collisions_[neighbour.node] += sign;
  distinct_.add(neighbour, sign);
  spreads_.add(neighbour, sign);
}

Prospects::Common& Prospects::common_of(Slot slot) {
  const size_t at = escapes_kind_ ? slot : cluster_.block(slot / kSlots).kind[slot % kSlots];
  Common& common = common_[at];
  if (!common.is_known) learn(*node_at(slot).node, common);
  return common;
}

void Prospects::learn(const v1::Node& example, Common& common) {
  common.is_known = true;
  if (!in_reach(job_, example)) return;
  const std::string reason = feasibility_.check(example);
  if (!reason.empty()) {
    common.finding = reasons_.number_of(Refusal::filtered, reason);
    return;
  }
  common.finding = kFits;
  common.affinity = affinities_.score(example);
  const Amount capacity = capacity_of(example);
  common.factors.cpu = power_of_ask(capacity.cpu, ask_.amount.cpu);
  common.factors.memory = power_of_ask(capacity.memory_mb, ask_.amount.memory_mb);
  common.used_up = used_up(example);
  if (!spreads_.empty()) common.cell = spreads_.cell_of(example);
  spread_is_known_ = spread_is_known_ && common.cell < spread_scores_.size();
  take_spread(common);
}

Finding Prospects::used_up(const v1::Node& example) {
  if (!distinct_.has_properties()) return kFits;
  const std::string reason = distinct_.check_properties(example);
  return reason.empty() ? kFits : reasons_.number_of(Refusal::filtered, reason);
}

double Prospects::spread_of(const Common& common) const {
  return common.cell < spread_scores_.size() ? spread_scores_[common.cell] : 0;
}

// True when the scores of its nodes change by it.
bool Prospects::take_spread(Common& common) const {
  const double spread = spread_of(common);
  const ScreenFactors before = common.factors;
  common.factors.extra = common.affinity + spread;
  common.factors.count = 1 + (common.affinity != 0 ? 1 : 0) + (spread != 0 ? 1 : 0);
  return before.extra != common.factors.extra || before.count != common.factors.count;
}

// The neighbours changed: what is said of nodes in common follows. Those that are rated otherwise now are marked.
void Prospects::learn_again() {
  if (spreads_.empty() && !distinct_.has_properties()) return;
  spread_scores_ = spreads_.scores();
  spread_is_known_ = true;
  for (size_t i = 0; i < common_.size(); ++i) {
    Common& common = common_[i];
    if (common.finding != kFits) continue;
    common.has_changed = take_spread(common);
    if (!distinct_.has_properties()) continue;
    const Finding now = used_up(escapes_kind_ ? *node_at(i).node : *cluster_.example(static_cast<uint32_t>(i)));
    common.has_changed = common.has_changed || now != common.used_up;
    common.used_up = now;
  }
}

// Asks about every kind that has nodes that take work, and counts the nodes.
void Prospects::learn_all() {
  if (learned_) return;
  learned_ = true;
  std::vector<int32_t> there(cluster_.kinds()), accepting(cluster_.kinds());
  for (size_t i = 0; i < cluster_.blocks(); ++i) {
    const ClusterBlock& nodes = cluster_.block(i);
    const auto learn_slot = [&](size_t at) { common_of(i * kSlots + at); };
    if (nodes.one_kind != ClusterBlock::kMixed) {
      if (nodes.live == 0) continue;
      there[nodes.one_kind] += std::popcount(nodes.live);
      accepting[nodes.one_kind] += std::popcount(nodes.accepting);
      visit_bits(escapes_kind_ ? nodes.accepting : nodes.accepting & -nodes.accepting, learn_slot);
    } else {
      visit_bits(nodes.live, [&](size_t at) { ++there[nodes.kind[at]]; });
      visit_bits(nodes.accepting, [&](size_t at) {
        ++accepting[nodes.kind[at]];
        learn_slot(at);
      });
    }
  }
  for (uint32_t kind = 0; kind < cluster_.kinds(); ++kind) {
    if (there[kind] == 0) continue;
    const v1::Node& example = *cluster_.example(kind);
    if (in_pool(job_, example)) tally_.add_in_pool(there[kind]);
    if (accepting[kind] > 0 && in_reach(job_, example)) tally_.look_at(example.datacenter(), accepting[kind]);
  }
}

// Everything is asked anew.
void Prospects::forget() {
  learned_ = screened_ = spread_is_known_ = false;
  std::ranges::fill(common_, Common{});
  tally_ = Tally(reasons_);
  blocks_.clear();
}

void Prospects::ask_for(std::string_view alloc_name) {
  if (feasibility_.ask_for(alloc_name)) forget();
  if (volumes_.empty()) return;
  const VolumeAsk::Stale stale = volumes_.ask_for(alloc_name);
  if (!screened_) return;
  if (stale.all) {
    for (size_t i = 0; i < blocks_.size(); ++i) screen_block(i);
    return;
  }
  for (const std::string& node : stale.nodes) {
    if (const auto slot = cluster_.slot_of(node)) look_again(*slot);
  }
}

const Feasibility& Prospects::feasibility() {
  learn_all();
  return feasibility_;
}

void Prospects::screen_all() {
  if (screened_) return;
  screened_ = true;
  learn_all();
  learn_again();
  blocks_.resize(cluster_.blocks());
  scores_ = std::make_unique_for_overwrite<double[]>(blocks_.size() * kSlots);
  for (size_t i = 0; i < blocks_.size(); ++i) screen_block(i);
}

void Prospects::screen_block(size_t index) {
  const ClusterBlock& nodes = cluster_.block(index);
  Block& block = blocks_[index];
  for (const Found& found : block.found) refuse(nodes, found.slots, found.finding, -1);
  block.found.clear();
  block.fits = 0;
  const uint64_t singled = nodes.accepting & (judges_each() ? ~uint64_t{0} : singled_[index]);
  const uint64_t rest = nodes.accepting & ~singled;
  if (rest != 0) {
    if (is_alike(nodes)) {
      screen_alike(nodes, index, rest);
    } else {
      screen_mixed(nodes, index, rest);
    }
  }
  visit_bits(singled, [&](size_t at) { judge(index * kSlots + at); });
  note_best(index);
}

// The findings stand; only the nodes' ratings have changed.
void Prospects::rate_block(size_t index) {
  const ClusterBlock& nodes = cluster_.block(index);
  const uint64_t fits = blocks_[index].fits;
  const uint64_t rest = judges_each() ? 0 : fits & ~singled_[index];
  if (rest != 0 && is_alike(nodes)) {
    screen(nodes, ask_, common_[nodes.one_kind].factors, &scores_[index * kSlots]);
  } else {
    visit_bits(rest, [&](size_t at) {
      const ScreenFactors& factors = common_of(index * kSlots + at).factors;
      const double packing = packing_of(ask_, factors, nodes.cpu_power[at], nodes.memory_power[at]);
      scores_[index * kSlots + at] = mean_score(packing + factors.extra, factors.count);
    });
  }
  visit_bits(fits & ~rest, [&](size_t at) { scores_[index * kSlots + at] = score(parts_at(index * kSlots + at), {}); });
  note_best(index);
}

void Prospects::screen_alike(const ClusterBlock& nodes, size_t index, uint64_t slots) {
  const Common& common = common_[nodes.one_kind];
  if (common.shared() != kFits) return note(index, slots, common.shared());
  sort_by_room(nodes, index, slots, screen(nodes, ask_, common.factors, &scores_[index * kSlots]));
}

void Prospects::screen_mixed(const ClusterBlock& nodes, size_t index, uint64_t slots) {
  ClusterBlock::Column<ScreenFactors> factors;
  uint64_t left = slots;
  visit_bits(slots, [&](size_t at) {
    const Common& common = common_of(index * kSlots + at);
    const Finding finding = common.shared();
    if (finding == kFits) {
      factors[at] = common.factors;
    } else {
      left &= ~bit_of(at);
      note(index, bit_of(at), finding);
    }
  });
  if (left != 0) sort_by_room(nodes, index, left, screen_each(nodes, ask_, factors, &scores_[index * kSlots]));
}

// Ports come before what there is only more or less of.
void Prospects::sort_by_room(const ClusterBlock& nodes, size_t index, uint64_t slots, const ScreenRoom& room) {
  uint64_t left = slots;
  if (ports_.any) {
    visit_bits(slots & ~ports_surely_free(nodes, slots), [&](size_t at) {
      const ClusterNode& node = *nodes.nodes[at];
      const std::string reason = node.room.ports_exhausted(group_, *node.node);
      if (reason.empty()) return;
      left &= ~bit_of(at);
      note(index, bit_of(at), reasons_.number_of(Refusal::exhausted, reason));
    });
  }
  const auto leave_out = [&](uint64_t enough, const char* dimension) {
    if (const uint64_t out = left & ~enough; out != 0)
      note(index, out, reasons_.number_of(Refusal::exhausted, dimension));
    left &= enough;
  };
  leave_out(room.cpu, "cpu");
  leave_out(room.memory, "memory");
  leave_out(room.disk, "disk");
  note(index, left, kFits);
}

uint64_t Prospects::ports_surely_free(const ClusterBlock& nodes, uint64_t slots) const {
  if (!ports_.plain) return 0;
  uint64_t free = 0;
  visit_bits(slots, [&](size_t at) {
    const auto is_static_free = [&](int32_t port) {
      const HostAddresses& addresses = nodes.nodes[at]->room.addresses();
      return port > 0 && (port < addresses.first_dynamic() || port > addresses.last_dynamic());
    };
    if (nodes.spare_ports[at] < ports_.count || (nodes.port_bits[at] & ports_.bits) != 0) return;
    if (std::ranges::all_of(ports_.statics, is_static_free)) free |= bit_of(at);
  });
  return free;
}

// Judges one node by all that is there. Ports, devices and cores come before what there is only more or less of.
Finding Prospects::find(Slot slot, const Common& common) {
  if (common.finding != kFits) return common.finding;
  const v1::Node& node = *node_at(slot).node;
  const NodeRoom& room = node_at(slot).room;
  const auto refused = [&](Refusal refusal, std::string_view text) { return reasons_.number_of(refusal, text); };
  if (!volumes_.empty()) {
    if (const auto problem = volumes_.check(node))
      return reasons_.number_of(Refusal::filtered, text_of(*problem, node), text_of_more(*problem));
  }
  if (!distinct_.empty()) {
    if (const std::string reason = distinct_.check(node); !reason.empty()) return refused(Refusal::filtered, reason);
  }
  if (const std::string reason = room.ports_exhausted(group_, node); !reason.empty()) {
    return refused(Refusal::exhausted, reason);
  }
  if (wants_devices_ && !choose_devices(node, group_, room.devices())) {
    return refused(Refusal::exhausted, kNoDevices);
  }
  if (wants_cores_ && room.cores_exhausted(group_)) return refused(Refusal::exhausted, "cores");
  const std::string dimension = room.exhausted(ask_of(room));
  return dimension.empty() ? kFits : refused(Refusal::exhausted, dimension);
}

void Prospects::judge(Slot slot) {
  const Finding finding = find(slot, common_of(slot));
  note(slot / kSlots, bit_of(slot), finding);
  if (finding == kFits) scores_[slot] = score(parts_at(slot), {});
}

void Prospects::refuse(const ClusterBlock& nodes, uint64_t slots, Finding finding, int32_t sign) {
  if (finding == kFits) return;
  if (nodes.one_kind != ClusterBlock::kMixed) {
    tally_.refuse(finding, cluster_.example(nodes.one_kind)->node_class(), sign * std::popcount(slots));
  } else {
    visit_bits(slots, [&](size_t at) { tally_.refuse(finding, nodes.nodes[at]->node->node_class(), sign); });
  }
}

void Prospects::note(size_t index, uint64_t slots, Finding finding) {
  if (finding == kUnreachable || slots == 0) return;
  Block& block = blocks_[index];
  if (finding == kFits) block.fits |= slots;
  refuse(cluster_.block(index), slots, finding, 1);
  const auto known = std::ranges::find(block.found, finding, &Found::finding);
  if (known != block.found.end()) {
    known->slots |= slots;
  } else {
    block.found.push_back({slots, finding});
  }
}

void Prospects::note_best(size_t index) {
  Block& block = blocks_[index];
  block.best = best_score(&scores_[index * kSlots], block.fits);
  block.best_order = 0;
}

Finding Prospects::finding_at(Slot slot) const {
  for (const Found& found : blocks_[slot / kSlots].found) {
    if ((found.slots & bit_of(slot)) != 0) return found.finding;
  }
  return kUnreachable;
}

// Something on the node changed.
void Prospects::look_again(Slot slot) {
  const size_t index = slot / kSlots;
  const ClusterBlock& nodes = cluster_.block(index);
  if ((nodes.accepting & bit_of(slot)) == 0) return;
  Block& block = blocks_[index];
  for (Found& found : block.found) {
    if ((found.slots & bit_of(slot)) == 0) continue;
    found.slots &= ~bit_of(slot);
    refuse(nodes, bit_of(slot), found.finding, -1);
  }
  block.fits &= ~bit_of(slot);
  judge(slot);
  note_best(index);
}

void Prospects::changed(Slot slot, const Neighbour* moved, int sign) {
  singled_[slot / kSlots] |= bit_of(slot);
  if (moved) count_neighbour(*moved, sign);
  if (!screened_) {
    spread_is_known_ = spread_is_known_ && !moved;
    return;
  }
  if (moved && (!spreads_.empty() || distinct_.has_properties())) {
    learn_again();
    for (size_t i = 0; i < blocks_.size(); ++i) {
      const ClusterBlock& nodes = cluster_.block(i);
      bool changed = false;
      if (is_alike(nodes)) {
        changed = common_[nodes.one_kind].has_changed;
      } else {
        visit_bits(nodes.accepting, [&](size_t at) {
          changed = changed || common_[escapes_kind_ ? i * kSlots + at : nodes.kind[at]].has_changed;
        });
      }
      if (changed && distinct_.has_properties()) {
        screen_block(i);
      } else if (changed) {
        rate_block(i);
      }
    }
  }
  look_again(slot);
}

Prospects::Parts Prospects::parts_at(Slot slot) {
  const ClusterBlock& nodes = cluster_.block(slot / kSlots);
  return parts_of(slot, nodes.nodes[slot % kSlots]->room, nodes.cpu_power[slot % kSlots],
                  nodes.memory_power[slot % kSlots]);
}

Prospects::Parts Prospects::parts_after(Slot slot, const NodeRoom& room) {
  const auto& [capacity, used] = std::tie(room.capacity(), room.used());
  return parts_of(slot, room, power_of_free(capacity.cpu, used.cpu), power_of_free(capacity.memory_mb, used.memory_mb));
}

Prospects::Parts Prospects::parts_of(Slot slot, const NodeRoom& room, double cpu_power, double memory_power) {
  ScreenFactors factors = common_of(slot).factors;
  if (wants_cores_) factors.cpu = power_of_ask(room.capacity().cpu, ask_of(room).cpu);
  Parts parts = parts_with(slot, packing_of(ask_, factors, cpu_power, memory_power));
  if (wants_devices_) {
    const auto choice = choose_devices(*node_at(slot).node, group_, room.devices());
    parts.devices = choice ? choice->preference : std::nullopt;
  }
  return parts;
}

Prospects::Parts Prospects::parts_with(Slot slot, double packing) {
  const Common& common = common_of(slot);
  Parts parts{.packing = packing, .affinity = common.affinity, .spread = spread_of(common)};
  if (collisions_.empty()) return parts;
  const auto there = collisions_.find(node_at(slot).node.get());
  parts.collisions = there == collisions_.end() ? 0 : there->second;
  return parts;
}

double Prospects::packing_with(Slot slot, const Amount& used) {
  const Amount& capacity = node_at(slot).room.capacity();
  return packing_of(ask_, common_of(slot).factors, power_of_free(capacity.cpu, used.cpu),
                    power_of_free(capacity.memory_mb, used.memory_mb));
}

bool Prospects::lacks_amount(Finding finding) const {
  if (wants_devices_ || wants_cores_ || !reasons_.is_exhausted(finding)) return false;
  const std::string& text = reasons_.text(finding);
  return text == "cpu" || text == "memory" || text == "disk";
}

double Prospects::anti_affinity(const Parts& parts) const {
  if (parts.collisions == 0) return 0;
  return -static_cast<double>(parts.collisions + 1) / std::max(group_.count(), 1);
}

double Prospects::score(const Parts& parts, const Extra& extra) const {
  double sum = parts.affinity + parts.spread;  // as the factors of a screen have it
  double count = 1 + (parts.affinity != 0 ? 1 : 0) + (parts.spread != 0 ? 1 : 0);
  const auto add = [&](bool counts, double part) {
    if (!counts) return;
    sum += part;
    ++count;
  };
  add(parts.collisions > 0, anti_affinity(parts));
  add(parts.devices.has_value(), parts.devices.value_or(0));
  add(extra.penalised, -1);
  add(extra.preemption > 0, extra.preemption);
  return mean_score(parts.packing + sum, count);
}

void Prospects::show(Slot slot, const Parts& parts, const Extra& extra, v1::AllocMetric& metric) const {
  v1::NodeScoreMeta& meta = *metric.add_score_meta_data();
  meta.set_node_id(node_at(slot).node->id());
  meta.set_norm_score(score(parts, extra) / kResolution);
  // As finely as they count: the log and the state keep so much of them in few bytes.
  const auto show = [&](const char* name, double part) {
    (*meta.mutable_scores())[name] = mean_score(part, 1) / kResolution;
  };
  show("binpack", parts.packing);
  show("job-anti-affinity", anti_affinity(parts));
  show("node-reschedule-penalty", extra.penalised ? -1 : 0);
  if (parts.devices) show("devices", *parts.devices);
  if (affinities_.empty() || parts.affinity != 0) show("node-affinity", parts.affinity);
  if (parts.spread != 0) show("allocation-spread", parts.spread);
  if (extra.preemption > 0) show("preemption", extra.preemption);
}

uint64_t Prospects::order_of(Slot slot) const {
  return tie_order(cluster_.block(slot / kSlots).id_hash[slot % kSlots], seed_);
}

void Prospects::look_up_best(size_t index) {
  Block& block = blocks_[index];
  if (block.best_order != 0) return;
  block.best_order = UINT64_MAX;
  visit_bits(block.fits, [&](size_t at) {
    if (scores_[index * kSlots + at] != block.best) return;
    block.best_order = std::min(block.best_order, order_of(index * kSlots + at));
  });
}

// The best nodes are in the blocks with the best.
std::vector<Prospects::Rank> Prospects::best_of_all() {
  std::array<double, kScoresShown> most;  // of blocks, the best first
  most.fill(kNoScore);
  for (const Block& block : blocks_) {
    if (block.best <= most.back()) continue;
    auto at = std::ranges::upper_bound(most, block.best, std::greater<>());
    std::move_backward(at, most.end() - 1, most.end());
    *at = block.best;
  }
  std::vector<Rank> leading;  // the slot is the number of a block
  for (size_t i = 0; i < blocks_.size(); ++i) {
    if (blocks_[i].fits == 0 || blocks_[i].best < most.back()) continue;
    look_up_best(i);
    leading.push_back({blocks_[i].best, blocks_[i].best_order, i});
  }
  const size_t enough = std::min(leading.size(), kScoresShown);
  std::partial_sort(leading.begin(), leading.begin() + static_cast<ptrdiff_t>(enough), leading.end());
  std::vector<Rank> best;  // sorted
  for (size_t i = 0; i < enough; ++i) {
    const size_t index = leading[i].slot;
    visit_bits(blocks_[index].fits, [&](size_t at) {
      const Slot slot = index * kSlots + at;
      if (best.size() == kScoresShown && scores_[slot] < best.back().score) return;
      const Rank rank{scores_[slot], order_of(slot), slot};
      if (best.size() == kScoresShown && !(rank < best.back())) return;
      best.insert(std::upper_bound(best.begin(), best.end(), rank), rank);
      if (best.size() > kScoresShown) best.pop_back();
    });
  }
  return best;
}

std::vector<Prospects::Rank> Prospects::best(const std::set<std::string>& penalised) {
  screen_all();
  std::vector<std::pair<Slot, double>> without;  // the scores without the penalty
  for (const std::string& id : penalised) {
    const auto slot = cluster_.slot_of(id);
    if (!slot || (blocks_[*slot / kSlots].fits & bit_of(*slot)) == 0) continue;
    without.emplace_back(*slot, scores_[*slot]);
    scores_[*slot] = score(parts_at(*slot), {.penalised = true});
    note_best(*slot / kSlots);
  }
  std::vector<Rank> best = best_of_all();
  for (const auto& [slot, score] : without) {
    scores_[slot] = score;
    note_best(slot / kSlots);
  }
  return best;
}

Finding Prospects::look_at(Slot slot) {
  if (screened_) return finding_at(slot);
  if (!accepts_work(*node_at(slot).node)) return kUnreachable;
  const Common& common = common_of(slot);
  if (!spread_is_known_) learn_again();
  return find(slot, common);
}

std::vector<std::pair<Slot, Finding>> Prospects::exhausted() {
  screen_all();
  std::vector<std::pair<Slot, Finding>> slots;
  for (size_t i = 0; i < blocks_.size(); ++i) {
    for (const Found& found : blocks_[i].found) {
      if (!reasons_.is_exhausted(found.finding)) continue;
      visit_bits(found.slots, [&](size_t at) { slots.emplace_back(i * kSlots + at, found.finding); });
    }
  }
  return slots;
}

}  // namespace drover::scheduler
