#include "supervisor/instances.h"

#include <utility>

#include "drover/messages.h"
#include "drover/v1/node.pb.h"

namespace drover::mounts {
namespace {

// Everything but the time.
std::string meaning_of(v1::CsiInfo info) {
  info.clear_update_time();
  return serialize(info);
}

bool is_same(const std::shared_ptr<const v1::CsiInfo>& a, const std::shared_ptr<const v1::CsiInfo>& b) {
  return a && b ? meaning_of(*a) == meaning_of(*b) : a == b;
}
bool is_same(const Described& a, const Described& b) {
  return is_same(a.controller, b.controller) && is_same(a.node, b.node);
}

template <typename Infos>
bool write(const Infos& wanted, google::protobuf::Map<std::string, v1::CsiInfo>& shown) {
  bool is_other = wanted.size() != shown.size();
  google::protobuf::Map<std::string, v1::CsiInfo> next;
  for (const auto& [plugin, found] : wanted) {
    const auto before = shown.find(plugin);
    const bool stays = before != shown.end() && meaning_of(before->second) == meaning_of(*found.info);
    next[plugin] = stays ? before->second : *found.info;
    is_other = is_other || !stays;
  }
  shown = std::move(next);
  return is_other;
}

std::shared_ptr<const v1::CsiInfo> unhealthy(const std::shared_ptr<const v1::CsiInfo>& info, const std::string& why,
                                             int64_t now) {
  if (!info) return nullptr;
  auto out = std::make_shared<v1::CsiInfo>(*info);
  out->set_healthy(false);
  out->set_health_description(why);
  out->set_update_time(now);
  return out;
}

}  // namespace

Described unhealthy(const Described& described, const std::string& why, int64_t now) {
  return {.controller = unhealthy(described.controller, why, now), .node = unhealthy(described.node, why, now)};
}

std::shared_ptr<const v1::CsiInfo> Instances::side_of(const Entry& entry, Side side) {
  return side == Side::controller ? entry.described.controller : entry.described.node;
}

// By plugin: the newest that is healthy, or else the newest, so that people see what is wrong with it.
std::map<std::string, Instances::Found> Instances::chosen(Side side) const {
  std::map<std::string, Found> out;
  for (const auto& [number, entry] : entries_) {
    auto info = side_of(entry, side);
    if (!info) continue;
    Found& best = out[entry.instance->plugin_id];
    if (!best.info || info->healthy() || !best.info->healthy()) best = {entry.instance, std::move(info)};
  }
  return out;
}

uint64_t Instances::add(std::shared_ptr<const Instance> instance, const Described& described) {
  uint64_t number = 0;
  {
    const MutexLock lock(mutex_);
    std::erase_if(entries_, [&](const auto& each) {
      const Instance& other = *each.second.instance;
      return each.second.has_faded && other.plugin_id == instance->plugin_id && other.type == instance->type;
    });
    number = ++last_;
    entries_[number] = {std::move(instance), described};
  }
  tell();
  return number;
}

void Instances::describe(uint64_t number, const Described& described) {
  {
    const MutexLock lock(mutex_);
    const auto at = entries_.find(number);
    if (at == entries_.end()) return;
    if (is_same(std::exchange(at->second.described, described), described)) return;
  }
  tell();
}

void Instances::fade(uint64_t number, const std::string& why, int64_t now) {
  {
    const MutexLock lock(mutex_);
    const auto at = entries_.find(number);
    if (at == entries_.end()) return;
    at->second.described = unhealthy(at->second.described, why, now);
    at->second.has_faded = true;
  }
  tell();
}

void Instances::remove(uint64_t number) {
  {
    const MutexLock lock(mutex_);
    if (entries_.erase(number) == 0) return;
  }
  tell();
}

Result<Instances::Found> Instances::find(Side side, const std::string& plugin_id) const {
  {
    const MutexLock lock(mutex_);
    const auto all = chosen(side);
    const auto at = all.find(plugin_id);
    if (at != all.end() && at->second.info->healthy()) return at->second;
  }
  return unavailable(std::string("no healthy ") + (side == Side::controller ? "controller" : "node") + " plugin \"" +
                     plugin_id + "\" on this node");
}

bool Instances::refresh(v1::Node& node) {
  std::map<std::string, Found> controllers, nodes;
  {
    const MutexLock lock(mutex_);
    controllers = chosen(Side::controller);
    nodes = chosen(Side::node);
  }
  const bool are_controllers_others = write(controllers, *node.mutable_csi_controller_plugins());
  return write(nodes, *node.mutable_csi_node_plugins()) || are_controllers_others;
}

void Instances::watch(std::function<void()> changed) {
  const MutexLock lock(mutex_);
  changed_ = std::move(changed);
}

void Instances::tell() {
  std::function<void()> changed;
  {
    const MutexLock lock(mutex_);
    changed = changed_;
  }
  if (changed) changed();
  if (told_) told_();
}

}  // namespace drover::mounts
