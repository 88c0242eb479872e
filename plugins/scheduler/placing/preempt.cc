#include "preempt.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <set>

#include "devices.h"

namespace drover::scheduler {
namespace {

constexpr double kParallelPenalty = 50;  // for each allocation above the number that may leave at the same time
constexpr double kScoreRate = 0.0048, kScoreOrigin = 2048;

bool may_leave(const Candidate& candidate, int32_t priority) { return priority - candidate.priority >= kPriorityGap; }

double distance(const Amount& needed, const Candidate& candidate) {
  double penalty = 0;
  if (candidate.max_parallel > 0 && candidate.evicted >= candidate.max_parallel) {
    penalty = kParallelPenalty * (candidate.evicted + 1 - candidate.max_parallel);
  }
  return preemption_distance(needed, candidate.holding->usage.amount) + penalty;
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
std::vector<Candidate> shortest_prefix(const NodeRoom& room, const Amount& ask, std::vector<Candidate> leaving) {
  std::ranges::stable_sort(leaving, std::greater<>(),
                           [&](const Candidate& one) { return preemption_distance(ask, one.holding->usage.amount); });
  NodeRoom left = room;
  size_t count = 0;
  while (count < leaving.size() && !left.exhausted(ask).empty()) left.remove(leaving[count++].holding->usage);
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
  if (room.exhausted(ask).empty()) return std::vector<Candidate>();
  std::vector<Candidate> open = by_priority(candidates, priority);
  std::vector<Candidate> leaving;
  NodeRoom left = room;
  Amount needed = ask;
  while (!open.empty() && !left.exhausted(ask).empty()) {
    const auto end = std::ranges::upper_bound(open, open.front().priority, {}, &Candidate::priority);
    const auto nearest = std::min_element(open.begin(), end, [&](const Candidate& a, const Candidate& b) {
      return distance(needed, a) < distance(needed, b);
    });
    left.remove(nearest->holding->usage);
    needed -= nearest->holding->usage.amount;
    leaving.push_back(*nearest);
    open.erase(nearest);
  }
  if (!left.exhausted(ask).empty()) return std::nullopt;
  return shortest_prefix(room, ask, std::move(leaving));
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

double preemption_score(const std::vector<Candidate>& leaving) {
  double sum = 0, most = 0;
  for (const Candidate& one : leaving) {
    sum += one.priority;
    most = std::max<double>(most, one.priority);
  }
  const double net = most > 0 ? most + sum / most : 0;
  return 1 / (1 + std::exp(kScoreRate * (net - kScoreOrigin)));
}

}  // namespace drover::scheduler
