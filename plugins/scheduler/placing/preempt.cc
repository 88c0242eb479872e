#include "preempt.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <numeric>
#include <set>
#include <tuple>

#include "devices.h"

namespace drover::scheduler {
namespace {

constexpr double kParallelPenalty = 50;  // for each allocation above the number that may leave at the same time
constexpr double kScoreRate = 0.0048, kScoreOrigin = 2048;

bool may_leave(const Candidate& candidate, int32_t priority) { return priority - candidate.priority >= kPriorityGap; }

double distance(const Amount& needed, const Weight& weight) {
  double penalty = 0;
  if (weight.max_parallel > 0 && weight.evicted >= weight.max_parallel) {
    penalty = kParallelPenalty * (weight.evicted + 1 - weight.max_parallel);
  }
  return preemption_distance(needed, weight.amount) + penalty;
}

bool is_over(const Amount& over) { return over.cpu > 0 || over.memory_mb > 0 || over.disk_mb > 0; }

Amount over_of(const NodeRoom& room, const Amount& ask) {
  Amount over = room.used();
  over += ask;
  return over -= room.capacity();
}

NodeRoom without(NodeRoom room, const std::vector<Candidate>& leaving) {
  for (const Candidate& one : leaving) room.remove(one.holding->usage);
  return room;
}

void take_out(std::vector<Candidate>& candidates, const std::vector<Candidate>& taken) {
  std::erase_if(candidates, [&](const Candidate& one) {
    return std::ranges::any_of(taken, [&](const Candidate& other) { return other.holding == one.holding; });
  });
}

// Lowest priority first; the order of the node among equals.
std::vector<Candidate> by_priority(const std::vector<Candidate>& candidates, int32_t priority) {
  std::vector<Candidate> sorted;
  for (const Candidate& one : candidates) {
    if (may_leave(one, priority)) sorted.push_back(one);
  }
  std::ranges::stable_sort(sorted, {}, &Candidate::priority);
  return sorted;
}

// Leaves out those whose room others give already.
std::vector<size_t> shortest_prefix(Amount over, const Amount& ask, std::vector<size_t> leaving,
                                    std::span<const Weight> weights) {
  std::ranges::stable_sort(leaving, std::greater<>(),
                           [&](size_t at) { return preemption_distance(ask, weights[at].amount); });
  size_t count = 0;
  while (count < leaving.size() && is_over(over)) over -= weights[leaving[count++]].amount;
  leaving.resize(count);
  return leaving;
}

// Sets of candidates that each free enough of one group of devices.
struct DeviceOption {
  std::vector<Candidate> leaving;
  std::string group;
};

std::vector<Candidate> best_option(std::vector<DeviceOption> options, uint64_t needed) {
  std::vector<Candidate> best;
  int64_t best_sum = -1;
  for (DeviceOption& option : options) {
    const auto freed = [&](const Candidate& one) { return one.holding->usage.devices.count(option.group); };
    std::ranges::stable_sort(option.leaving, std::greater<>(), freed);
    std::set<int32_t> priorities;
    std::vector<Candidate> enough;
    uint64_t count = 0;
    for (const Candidate& one : option.leaving) {
      if (count >= needed) break;
      count += freed(one);
      priorities.insert(one.priority);
      enough.push_back(one);
    }
    int64_t sum = 0;
    for (const int32_t priority : priorities) sum += priority;
    if (best_sum < 0 || sum < best_sum) {
      best_sum = sum;
      best = std::move(enough);
    }
  }
  return best;
}

// Instances of the group that nobody holds.
uint64_t free_instances(const v1::NodeDeviceResource& device, const TakenDevices& taken) {
  const std::string group = device_group(device);
  return static_cast<uint64_t>(std::ranges::count_if(device.instances(), [&](const v1::NodeDevice& instance) {
    return instance.healthy() && !taken.holds(group, instance.id());
  }));
}

bool preempt_for_devices(const v1::Node& node, const v1::TaskGroup& group, int32_t priority,
                         std::vector<Candidate>& candidates, std::vector<Candidate>& leaving, NodeRoom& room) {
  for (int round = 0; !choose_devices(node, group, room.devices()); ++round) {
    // Each round frees what one more of the requests lacks, beside those before it.
    bool freed = false;
    v1::TaskGroup asked = group;
    for (v1::Task& task : *asked.mutable_tasks()) task.mutable_resources()->clear_devices();
    TakenDevices taken = room.devices();
    for (int i = 0; i < group.tasks_size() && !freed; ++i) {
      for (const v1::RequestedDevice& wanted : group.tasks(i).resources().devices()) {
        *asked.mutable_tasks(i)->mutable_resources()->add_devices() = wanted;
        if (const auto chosen = choose_devices(node, asked, room.devices())) {
          v1::AllocatedResources granted;
          for (const auto& [name, device] : chosen->grants) *(*granted.mutable_tasks())[name].add_devices() = device;
          taken = room.devices();
          taken.add(granted);
          continue;
        }
        const auto more = preempt_for_device(node, taken, wanted, priority, candidates);
        if (!more || more->empty()) return false;
        for (const Candidate& one : *more) room.remove(one.holding->usage);
        leaving.insert(leaving.end(), more->begin(), more->end());
        take_out(candidates, *more);
        freed = true;
        break;
      }
    }
    if (!freed) return false;
  }
  return true;
}

}  // namespace

double preemption_distance(const Amount& needed, const Amount& held) {
  double sum = 0;
  const auto add = [&](int64_t wanted, int64_t has) {
    if (wanted <= 0) return;
    const double share = static_cast<double>(wanted - has) / static_cast<double>(wanted);
    sum += share * share;
  };
  add(needed.memory_mb, held.memory_mb);
  add(needed.cpu, held.cpu);
  add(needed.disk_mb, held.disk_mb);
  return std::sqrt(sum);
}

std::optional<std::vector<Candidate>> preempt_for_amount(const NodeRoom& room, const Amount& ask, int32_t priority,
                                                         const std::vector<Candidate>& candidates) {
  std::vector<Weight> weights;
  std::vector<const Candidate*> open;
  for (const Candidate& one : candidates) {
    if (!may_leave(one, priority)) continue;
    open.push_back(&one);
    weights.push_back({one.holding->usage.amount, one.priority, one.max_parallel, one.evicted});
  }
  const auto chosen = leave_for_amount(over_of(room, ask), ask, weights);
  if (!chosen) return std::nullopt;
  std::vector<Candidate> leaving;
  for (const size_t at : *chosen) leaving.push_back(*open[at]);
  return leaving;
}

// The lowest priority first, and of that the nearest to what is needed, until there is room.
std::optional<std::vector<size_t>> leave_for_amount(const Amount& over, const Amount& ask,
                                                    std::span<const Weight> weights) {
  std::vector<size_t> leaving;
  if (!is_over(over)) return leaving;
  std::vector<size_t> open(weights.size());
  std::iota(open.begin(), open.end(), size_t{0});
  std::ranges::stable_sort(open, {}, [&](size_t at) { return weights[at].priority; });
  Amount left = over, needed = ask;
  while (!open.empty() && is_over(left)) {
    const int32_t lowest = weights[open.front()].priority;
    auto nearest = open.begin();
    double least = std::numeric_limits<double>::infinity();
    for (auto at = open.begin(); at != open.end() && weights[*at].priority == lowest; ++at) {
      const double now = distance(needed, weights[*at]);
      if (now < least) std::tie(least, nearest) = std::tie(now, at);
    }
    left -= weights[*nearest].amount;
    needed -= weights[*nearest].amount;
    leaving.push_back(*nearest);
    open.erase(nearest);
  }
  if (is_over(left)) return std::nullopt;
  return shortest_prefix(over, ask, std::move(leaving), weights);
}

std::optional<std::vector<Candidate>> preempt_for_ports(const v1::Node& node, const NodeRoom& room,
                                                        const v1::TaskGroup& group, int32_t priority,
                                                        const std::vector<Candidate>& candidates) {
  std::vector<Candidate> leaving;
  const HostAddresses& addresses = room.addresses();
  for (const v1::NetworkResource& network : group.networks()) {
    for (const v1::Port& port : network.reserved_ports()) {
      const auto* address = addresses.first_of(host_network_of(port, node).value_or(""));
      if (!address) return std::nullopt;
      for (const Candidate& one : candidates) {
        const bool holds = std::ranges::any_of(one.holding->usage.ports, [&](const HeldPort& held) {
          return held.port == port.value() && addresses.slot_of(held.ip) == address->slot;
        });
        if (!holds) continue;
        if (!may_leave(one, priority)) return std::nullopt;
        take_out(leaving, {one});
        leaving.push_back(one);
      }
    }
  }
  if (!without(room, leaving).ports_exhausted(group, node).empty()) return std::nullopt;
  return leaving;
}

std::optional<std::vector<Candidate>> preempt_for_device(const v1::Node& node, const TakenDevices& taken,
                                                         const v1::RequestedDevice& wanted, int32_t priority,
                                                         const std::vector<Candidate>& candidates) {
  std::vector<DeviceOption> options;
  for (const v1::NodeDeviceResource& device : node.node_resources().devices()) {
    if (!matches_name(wanted.name(), device) || !meets_constraints(wanted, device)) continue;
    const std::string group = device_group(device);
    const uint64_t free = free_instances(device, taken);
    uint64_t freed = 0;
    DeviceOption option{.leaving = {}, .group = group};
    for (const Candidate& one : by_priority(candidates, priority)) {
      if (free + freed >= wanted.count()) break;
      const uint64_t held = one.holding->usage.devices.count(group);
      if (held == 0) continue;
      freed += held;
      option.leaving.push_back(one);
    }
    if (free + freed >= wanted.count()) options.push_back(std::move(option));
  }
  if (options.empty()) return std::nullopt;
  return best_option(std::move(options), wanted.count());
}

std::optional<Preemption> preempt(const v1::Node& node, const NodeRoom& room, const v1::TaskGroup& group,
                                  int32_t priority, std::vector<Candidate> candidates) {
  if (room.cores_exhausted(group)) return std::nullopt;
  std::vector<Candidate> leaving;
  if (!room.ports_exhausted(group, node).empty()) {
    auto ports = preempt_for_ports(node, room, group, priority, candidates);
    if (!ports) return std::nullopt;
    take_out(candidates, *ports);
    leaving = *std::move(ports);
  }
  NodeRoom left = without(room, leaving);
  if (wants_devices(group) && !preempt_for_devices(node, group, priority, candidates, leaving, left)) {
    return std::nullopt;
  }
  const auto more = preempt_for_amount(left, left.ask_of(group), priority, candidates);
  if (!more) return std::nullopt;
  leaving.insert(leaving.end(), more->begin(), more->end());
  return Preemption{.leaving = std::move(leaving), .room = without(std::move(left), *more)};
}

Offer::Offer(std::span<const Weight> weights) {
  if (weights.empty()) return;
  least = most = weights.front().amount;
  lowest = weights.front().priority;
  for (const Weight& weight : weights) {
    const Amount& amount = weight.amount;
    all += amount;
    least = {std::min(least.cpu, amount.cpu), std::min(least.memory_mb, amount.memory_mb),
             std::min(least.disk_mb, amount.disk_mb)};
    most = {std::max(most.cpu, amount.cpu), std::max(most.memory_mb, amount.memory_mb),
            std::max(most.disk_mb, amount.disk_mb)};
    lowest = std::min(lowest, weight.priority);
  }
}

bool Offer::is_enough(const Amount& over) const {
  Amount left = over;
  return !is_over(left -= all);
}

Amount Offer::least_to_leave(const Amount& over) const {
  int64_t at_least = 1;  // so many allocations leave
  const auto count_for = [&](int64_t lacks, int64_t largest) {
    if (lacks > 0 && largest > 0) at_least = std::max(at_least, (lacks + largest - 1) / largest);
  };
  count_for(over.cpu, most.cpu);
  count_for(over.memory_mb, most.memory_mb);
  count_for(over.disk_mb, most.disk_mb);
  return {std::max(over.cpu, at_least * least.cpu), std::max(over.memory_mb, at_least * least.memory_mb),
          std::max(over.disk_mb, at_least * least.disk_mb)};
}

std::optional<uint32_t> Others::group_of(const std::shared_ptr<const Holding>& holding) {
  if (!holding->evictable) return std::nullopt;
  const std::hash<std::string_view> hash;
  const size_t key = hash(holding->job_id) + holding->job_version;
  std::optional<uint32_t> number;
  for (auto [at, end] = numbers_.equal_range(key); at != end && !number; ++at) {
    const Holding& known = *groups_[at->second].example;
    if (known.job_id == holding->job_id && known.group == holding->group && known.name_space == holding->name_space &&
        known.job_version == holding->job_version) {
      number = at->second;
    }
  }
  if (!number) {
    number = static_cast<uint32_t>(groups_.size());
    numbers_.emplace(key, *number);
    const bool is_own = holding->job_id == job_->id() && holding->name_space == job_->namespace_();
    groups_.push_back({holding, is_own ? std::nullopt : importance_(*holding)});
  }
  return groups_[*number].importance ? number : std::nullopt;
}

std::vector<uint32_t> Others::find(const GroupName& name) const {
  std::vector<uint32_t> found;
  for (uint32_t number = 0; number < groups_.size(); ++number) {
    const Holding& known = *groups_[number].example;
    if (std::tie(known.name_space, known.job_id, known.group) == name) found.push_back(number);
  }
  return found;
}

double preemption_score(double sum, double most) {
  const double net = most > 0 ? most + sum / most : 0;
  return 1 / (1 + std::exp(kScoreRate * (net - kScoreOrigin)));
}

double preemption_score(const std::vector<Candidate>& leaving) {
  double sum = 0, most = 0;
  for (const Candidate& one : leaving) {
    sum += one.priority;
    most = std::max<double>(most, one.priority);
  }
  return preemption_score(sum, most);
}

}  // namespace drover::scheduler
