#include "node_devices/devices.h"

#include <pthread.h>

#include <algorithm>

#include "driver_lookup.h"
#include "drover/log.h"

namespace drover::agent {
namespace {

using namespace std::chrono_literals;

constexpr std::chrono::nanoseconds kShortestInterval = 100ms;
constexpr auto kLongestPause = 30s;  // between two looks at what plugins there are
constexpr auto kOwnerTime = 10s;     // for a plugin that is being started again
constexpr auto kHolderTime = 30s;    // for a task that is ending

std::string group_of(const v1::AllocatedDevice& given) {
  return given.vendor() + "/" + given.type() + "/" + given.name();
}

// `visit` may need a lock that the caller holds.
template <typename Visit>
void each_instance(const v1::AllocatedTaskResources& given, Visit visit) DROVER_UNCHECKED_LOCKING {
  for (const v1::AllocatedDevice& device : given.devices()) {
    for (const std::string& id : device.device_ids()) visit(group_of(device), id);
  }
}

}  // namespace

void Devices::start(std::function<void()> changed) {
  changed_callback_ = std::move(changed);
  for (PluginSource* source : plugin_sources(host_)) {
    source->watch<DevicePlugin>([this] {
      const MutexLock lock(mutex_);
      is_woken_ = true;
      changed_.notify_all();
    });
  }
  thread_ = std::jthread([this](const std::stop_token& stop) { run(stop); });
}

void Devices::stop() {
  if (!thread_.joinable()) return;
  for (PluginSource* source : plugin_sources(host_)) source->watch<DevicePlugin>({});
  {
    const MutexLock lock(mutex_);
    is_stopping_ = true;
    changed_.notify_all();
  }
  thread_.request_stop();
  thread_.join();
}

void Devices::wait_first(SteadyTime deadline, const std::stop_token& stop) const {
  MutexLock lock(mutex_);
  changed_.wait_until(lock, stop, deadline, [this]() DROVER_REQUIRES(mutex_) { return have_all_said_; });
}

v1::NodeResources Devices::resources() const {
  const MutexLock lock(mutex_);
  return inventory_.resources;
}

// ---- the thread "devices"

void Devices::run(const std::stop_token& stop) {
  ::pthread_setname_np(::pthread_self(), "devices");
  own_thread_.bind();
  while (!stop.stop_requested()) {
    find_plugins();
    SteadyTime next = host_.clock().steady() + kLongestPause;
    for (Asked& asked : plugins_) {
      if (!asked.is_here || host_.clock().steady() >= asked.due) ask(asked);
      if (asked.is_here) next = std::min(next, asked.due);
    }
    publish();
    MutexLock lock(mutex_);
    changed_.wait_until(lock, stop, next, [this]() DROVER_REQUIRES(mutex_) { return is_woken_; });
    is_woken_ = false;
  }
}

void Devices::find_plugins() {
  DROVER_ASSERT_ON(own_thread_);
  const auto add = [this](std::string name, DevicePlugin* plugin, bool is_here) {
    if (std::ranges::find(plugins_, plugin, &Asked::plugin) == plugins_.end())
      plugins_.push_back({.name = std::move(name), .plugin = plugin, .is_here = is_here});
  };
  for (const std::string& name : host_.extensions<DevicePlugin>()) add(name, host_.extension<DevicePlugin>(name), true);
  for (const PluginSource* source : plugin_sources(host_)) {
    for (auto& [name, plugin] : source->plugins<DevicePlugin>()) add(name, plugin, false);
  }
}

void Devices::ask(Asked& asked) {
  auto print = asked.plugin->fingerprint();
  asked.due = host_.clock().steady() + std::max(asked.plugin->fingerprint_every(), kShortestInterval);
  // One in this process has spoken with an error, too; a program that has not is on its way.
  asked.has_said = asked.is_here || print.ok();
  asked.said = print.ok() ? *std::move(print) : device::FingerprintResponse();
  std::string problem = print.ok() ? "" : print.status().message();
  if (asked.is_here && problem != asked.problem && !problem.empty())
    log::warn("device", "the devices of a plugin are withdrawn", {{"plugin", asked.name}, {"error", problem}});
  asked.problem = std::move(problem);
}

void Devices::publish() {
  DROVER_ASSERT_ON(own_thread_);
  std::vector<DevicesOf> all;
  std::vector<NamedPlugin<DevicePlugin>> owners;
  bool have_all_said = true;
  for (const Asked& asked : plugins_) {
    all.push_back({asked.name, asked.said});
    owners.push_back({asked.name, asked.plugin});
    have_all_said = have_all_said && asked.has_said;
  }
  DeviceInventory inventory = take_inventory(all);
  if (inventory.problems != problems_) {
    for (const std::string& problem : inventory.problems)
      log::warn("device", "a group of devices is not taken", {{"reason", problem}});
    problems_ = inventory.problems;
  }
  const int64_t groups = inventory.resources.devices_size();
  bool is_another = false;
  {
    const MutexLock lock(mutex_);
    is_another = serialize(inventory.resources) != serialize(inventory_.resources);
    inventory_ = std::move(inventory);
    owners_ = std::move(owners);
    have_all_said_ = have_all_said;
    changed_.notify_all();
  }
  if (!is_another) return;
  log::info("device", "the devices of this node have changed", {{"groups", groups}});
  changed_callback_();
}

// ---- calls [any]

DevicePlugin* Devices::owner_of(const std::string& group) const {
  const auto at = inventory_.owner.find(group);
  return at == inventory_.owner.end() ? nullptr : owners_[at->second].plugin;
}

Result<device::ContainerReservation> Devices::reserve(const std::string& holder,
                                                      const v1::AllocatedTaskResources& given,
                                                      const std::stop_token& stop) {
  DROVER_RETURN_IF_ERROR(take(holder, given, stop));
  auto reservation = ask_owners(given, stop);
  if (!reservation) release(holder);
  return reservation;
}

Status Devices::take(const std::string& holder, const v1::AllocatedTaskResources& given, const std::stop_token& stop) {
  std::string held;  // the first that is, and by whom
  const auto is_free = [&]() DROVER_REQUIRES(mutex_) {
    held.clear();
    each_instance(given, [&](const std::string& group, const std::string& id) DROVER_REQUIRES(mutex_) {
      const auto at = holders_.find({group, id});
      if (held.empty() && at != holders_.end() && at->second != holder) held = group + " " + id + " by " + at->second;
    });
    return held.empty() || is_stopping_;
  };
  MutexLock lock(mutex_);
  changed_.wait_until(lock, stop, host_.clock().steady() + kHolderTime, is_free);
  if (!held.empty()) {
    return stop.stop_requested() ? cancelled("the task shall not start any more")
                                 : unavailable("a device is still held: " + held);
  }
  each_instance(given, [&](const std::string& group, const std::string& id) DROVER_REQUIRES(mutex_) {
    holders_[{group, id}] = holder;
  });
  return ok_status();
}

void Devices::hold(const std::string& holder, const v1::AllocatedTaskResources& given) {
  const MutexLock lock(mutex_);
  each_instance(given, [&](const std::string& group, const std::string& id) DROVER_REQUIRES(mutex_) {
    holders_[{group, id}] = holder;
  });
}

void Devices::release(const std::string& holder) {
  const MutexLock lock(mutex_);
  std::erase_if(holders_, [&](const auto& held) { return held.second == holder; });
  changed_.notify_all();
}

Result<device::ContainerReservation> Devices::ask_owners(const v1::AllocatedTaskResources& given,
                                                         const std::stop_token& stop) {
  // One question to each plugin with all that the task gets of it: its answer may name them all in one variable.
  std::vector<std::pair<DevicePlugin*, std::vector<std::string>>> questions;
  const SteadyTime deadline = host_.clock().steady() + kOwnerTime;
  for (const v1::AllocatedDevice& one : given.devices()) {
    const std::string group = group_of(one);
    MutexLock lock(mutex_);
    changed_.wait_until(lock, stop, deadline,
                        [&]() DROVER_REQUIRES(mutex_) { return owner_of(group) != nullptr || is_stopping_; });
    DevicePlugin* owner = owner_of(group);
    if (!owner) return unavailable("no plugin has the device " + group + " at the moment");
    auto at = std::ranges::find(questions, owner, [](const auto& question) { return question.first; });
    if (at == questions.end()) at = questions.insert(questions.end(), {owner, {}});
    at->second.insert(at->second.end(), one.device_ids().begin(), one.device_ids().end());
  }
  device::ContainerReservation all;
  for (const auto& [plugin, ids] : questions) {
    DROVER_TRY(const auto reservation, plugin->reserve(ids));
    if (const std::string problem = problem_of(reservation); !problem.empty()) return internal_error(problem);
    for (const auto& [name, value] : reservation.envs()) (*all.mutable_envs())[name] = value;
    all.mutable_mounts()->MergeFrom(reservation.mounts());
    all.mutable_devices()->MergeFrom(reservation.devices());
  }
  return all;
}

std::vector<v1::DeviceGroupStats> Devices::stats() const {
  std::vector<NamedPlugin<DevicePlugin>> plugins;
  {
    const MutexLock lock(mutex_);
    std::set<size_t> with_devices;
    for (const auto& [group, owner] : inventory_.owner) with_devices.insert(owner);
    for (const size_t owner : with_devices) plugins.push_back(owners_[owner]);
  }
  std::vector<v1::DeviceGroupStats> all;
  for (const auto& [name, plugin] : plugins) {
    const auto stats = plugin->stats();
    if (!stats) {
      log::debug("device", "a plugin has no statistics", {{"plugin", name}, {"error", stats.status().message()}});
      continue;
    }
    for (const device::DeviceGroupStats& group : stats->groups()) all.push_back(to_api(group));
  }
  std::ranges::sort(all, {},
                    [](const v1::DeviceGroupStats& one) { return one.vendor() + "/" + one.type() + "/" + one.name(); });
  return all;
}

}  // namespace drover::agent
