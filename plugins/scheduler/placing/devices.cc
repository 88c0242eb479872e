#include "devices.h"

#include <algorithm>
#include <cmath>
#include <vector>

#include "device_value.h"

namespace drover::scheduler {
namespace {

// The number of dead ends that are tried: a bound on time, far above what a real group and node need.
constexpr int kMaxSteps = 10'000;

v1::DeviceAttribute text_value(std::string text) {
  v1::DeviceAttribute value;
  value.set_string_value(std::move(text));
  return value;
}

template <typename Visit>
void each_instance(const v1::AllocatedResources& resources, Visit visit) {
  for (const auto& [task, granted] : resources.tasks()) {
    for (const v1::AllocatedDevice& device : granted.devices()) {
      const std::string group = device_group(device);
      for (const std::string& id : device.device_ids()) visit(group, id);
    }
  }
}

struct Preference {
  double matched = 0;
  double total = 0;
  double share() const { return total == 0 ? 0 : matched / total; }
};

Preference preference_of(const v1::RequestedDevice& wanted, const v1::NodeDeviceResource& device) {
  Preference preference;
  for (const v1::Affinity& affinity : wanted.affinities()) {
    preference.total += std::abs(affinity.weight());
    if (device_values_meet(affinity.operand(), resolve_device_target(affinity.l_target(), device),
                           resolve_device_target(affinity.r_target(), device))) {
      preference.matched += affinity.weight();
    }
  }
  return preference;
}

// Looks for a group of devices for each block, best first, and goes back where a later block finds nothing.
class Search {
 public:
  Search(const v1::Node& node, const v1::TaskGroup& group, const TakenDevices& taken) {
    for (const v1::NodeDeviceResource& device : node.node_resources().devices()) {
      Pool& pool = pools_.emplace_back(Pool{.device = &device, .name = device_group(device)});
      for (const v1::NodeDevice& instance : device.instances()) {
        if (instance.healthy() && !taken.holds(pool.name, instance.id())) pool.free.push_back(&instance.id());
      }
    }
    std::ranges::sort(pools_, {}, &Pool::name);
    for (const v1::Task& task : group.tasks()) {
      for (const v1::RequestedDevice& wanted : task.resources().devices()) {
        if (wanted.count() > 0) blocks_.push_back({.task = &task.name(), .wanted = &wanted, .options = {}});
      }
    }
    for (Block& block : blocks_) find_options(block);
  }

  std::optional<DeviceChoice> run() {
    if (!assign(0)) return std::nullopt;
    DeviceChoice choice;
    Preference preference;
    for (Pool& pool : pools_) pool.used = 0;
    for (const Block& block : blocks_) {
      const Option& option = block.options[block.chosen];
      Pool& pool = pools_[option.pool];
      DeviceChoice::Grant& grant = choice.grants.emplace_back(DeviceChoice::Grant{.task = *block.task, .device = {}});
      grant.device.set_vendor(pool.device->vendor());
      grant.device.set_type(pool.device->type());
      grant.device.set_name(pool.device->name());
      for (uint64_t i = 0; i < block.wanted->count(); ++i) grant.device.add_device_ids(*pool.free[pool.used++]);
      preference.matched += option.preference.matched;
      preference.total += option.preference.total;
    }
    if (preference.total != 0) choice.preference = preference.share();
    return choice;
  }

 private:
  struct Pool {
    const v1::NodeDeviceResource* device;
    std::string name;
    std::vector<const std::string*> free{};  // instances, in the node's order
    uint64_t used = 0;
  };
  struct Option {
    size_t pool;
    Preference preference;
  };
  struct Block {
    const std::string* task;
    const v1::RequestedDevice* wanted;
    std::vector<Option> options;  // best first
    size_t chosen = 0;
  };

  void find_options(Block& block) const {
    for (size_t i = 0; i < pools_.size(); ++i) {
      const Pool& pool = pools_[i];
      if (pool.free.size() < block.wanted->count() || !matches_name(block.wanted->name(), *pool.device) ||
          !meets_constraints(*block.wanted, *pool.device)) {
        continue;
      }
      block.options.push_back({.pool = i, .preference = preference_of(*block.wanted, *pool.device)});
    }
    std::ranges::stable_sort(block.options, std::greater(), [](const Option& one) { return one.preference.share(); });
  }

  bool assign(size_t at) {
    if (at == blocks_.size()) return true;
    Block& block = blocks_[at];
    const uint64_t count = block.wanted->count();
    for (block.chosen = 0; block.chosen < block.options.size(); ++block.chosen) {
      if (++steps_ > kMaxSteps) return false;
      Pool& pool = pools_[block.options[block.chosen].pool];
      if (pool.free.size() - pool.used < count) continue;
      pool.used += count;
      if (assign(at + 1)) return true;
      pool.used -= count;
    }
    return false;
  }

  std::vector<Pool> pools_;
  std::vector<Block> blocks_;
  int steps_ = 0;
};

}  // namespace

bool wants_devices(const v1::TaskGroup& group) {
  return std::ranges::any_of(group.tasks(), [](const v1::Task& task) { return task.resources().devices_size() > 0; });
}

void TakenDevices::add(const v1::AllocatedResources& resources) {
  each_instance(resources, [&](const std::string& group, const std::string& id) { taken_.emplace(group, id); });
}

void TakenDevices::remove(const TakenDevices& others) {
  for (const auto& instance : others.taken_) {
    if (const auto at = taken_.find(instance); at != taken_.end()) taken_.erase(at);
  }
}

uint64_t TakenDevices::count(const std::string& group) const {
  return static_cast<uint64_t>(std::ranges::count(taken_, group, &std::pair<std::string, std::string>::first));
}

bool TakenDevices::overcommitted() const { return std::ranges::adjacent_find(taken_) != taken_.end(); }

bool matches_name(std::string_view wanted, const v1::NodeDeviceResource& device) {
  const size_t first = wanted.find('/');
  if (first == std::string_view::npos) return wanted == device.type();
  const size_t second = wanted.find('/', first + 1);
  if (wanted.substr(0, first) != device.vendor()) return false;
  if (second == std::string_view::npos) return wanted.substr(first + 1) == device.type();
  return wanted.substr(first + 1, second - first - 1) == device.type() && wanted.substr(second + 1) == device.name();
}

std::optional<v1::DeviceAttribute> resolve_device_target(std::string_view target,
                                                         const v1::NodeDeviceResource& device) {
  if (!target.starts_with("${") || !target.ends_with('}')) return parse_device_value(target);
  const std::string_view name = target.substr(2, target.size() - 3);
  if (name == "device.model") return text_value(device.name());
  if (name == "device.vendor") return text_value(device.vendor());
  if (name == "device.type") return text_value(device.type());
  if (name == "device.ids") {
    std::string ids;
    for (const v1::NodeDevice& instance : device.instances()) ids += (ids.empty() ? "" : ",") + instance.id();
    return text_value(std::move(ids));
  }
  constexpr std::string_view kAttribute = "device.attr.";
  if (!name.starts_with(kAttribute)) return std::nullopt;
  const auto at = device.attributes().find(std::string(name.substr(kAttribute.size())));
  if (at == device.attributes().end()) return std::nullopt;
  return at->second;
}

bool meets_constraints(const v1::RequestedDevice& wanted, const v1::NodeDeviceResource& device) {
  return std::ranges::all_of(wanted.constraints(), [&](const v1::Constraint& constraint) {
    return device_values_meet(constraint.operand(), resolve_device_target(constraint.l_target(), device),
                              resolve_device_target(constraint.r_target(), device));
  });
}

std::optional<DeviceChoice> choose_devices(const v1::Node& node, const v1::TaskGroup& group,
                                           const TakenDevices& taken) {
  return Search(node, group, taken).run();
}

bool could_have_devices(const v1::Node& node, const v1::TaskGroup& group) {
  return !wants_devices(group) || choose_devices(node, group, {}).has_value();
}

bool has_devices(const v1::Node& node, const v1::AllocatedResources& resources) {
  bool has_all = true;
  each_instance(resources, [&](const std::string& group, const std::string& id) {
    has_all =
        has_all && std::ranges::any_of(node.node_resources().devices(), [&](const auto& device) {
          return device_group(device) == group && std::ranges::any_of(device.instances(), [&](const auto& instance) {
                   return instance.id() == id && instance.healthy();
                 });
        });
  });
  return has_all;
}

}  // namespace drover::scheduler
