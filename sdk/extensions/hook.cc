#include "drover/hook.h"

#include <algorithm>
#include <map>
#include <set>

#include "drover/model/job.h"
#include "drover/task_hook.h"
#include "drover/v1/allocation.pb.h"
#include "drover/v1/job.pb.h"

namespace drover {
namespace {

// The order of the hooks: by position, the positions of those that have to come before it.
std::vector<std::set<size_t>> predecessors(std::span<const HookInfo> hooks) {
  std::map<std::string_view, size_t> places;
  for (size_t i = 0; i < hooks.size(); ++i) places[hooks[i].name] = i;
  std::vector<std::set<size_t>> before(hooks.size());
  for (size_t i = 0; i < hooks.size(); ++i) {
    for (const std::string& name : hooks[i].after) {
      if (const auto at = places.find(name); at != places.end()) before[i].insert(at->second);
    }
    for (const std::string& name : hooks[i].before) {
      if (const auto at = places.find(name); at != places.end()) before[at->second].insert(i);
    }
  }
  return before;
}

std::string names_of(std::span<const HookInfo> hooks, const std::vector<bool>& left_out) {
  std::string names;
  for (size_t i = 0; i < hooks.size(); ++i) {
    if (!left_out[i]) names += (names.empty() ? "\"" : ", \"") + hooks[i].name + "\"";
  }
  return names;
}

std::string network_name(const std::string& mode) { return mode.starts_with("cni/") ? "cni" : mode; }

}  // namespace

Result<std::vector<size_t>> order_hooks(std::span<const HookInfo> hooks) {
  std::set<std::string_view> names;
  for (const HookInfo& hook : hooks) {
    if (!names.insert(hook.name).second) return invalid_argument("two hooks have the name \"" + hook.name + "\"");
  }
  const std::vector<std::set<size_t>> before = predecessors(hooks);
  std::vector<size_t> order;
  std::vector<bool> is_placed(hooks.size());
  while (order.size() < hooks.size()) {
    size_t next = 0;
    while (next < hooks.size() &&
           (is_placed[next] || !std::ranges::all_of(before[next], [&](size_t at) { return is_placed[at]; })))
      ++next;
    if (next == hooks.size()) return invalid_argument("these hooks wait for each other: " + names_of(hooks, is_placed));
    is_placed[next] = true;
    order.push_back(next);
  }
  return order;
}

std::vector<Block> used_blocks(const v1::TaskGroup& group, const v1::Task& task) {
  const std::pair<const char*, bool> candidates[] = {
      {"vault", task.has_vault()},
      {"template", task.templates_size() > 0},
      {"artifact", task.artifacts_size() > 0},
      {"dispatch_payload", task.has_dispatch_payload()},
      {"volume_mount", task.volume_mounts_size() > 0},
      {"csi_plugin", task.has_csi_plugin_config()},
      {"identity", task.identity().env() || task.identity().file() || task.identities_size() > 0}};
  std::vector<Block> used;
  for (const auto& [name, is_used] : candidates) {
    if (is_used) used.push_back({name, std::string("the block ") + name});
  }
  std::set<std::string> types;
  for (const auto& [name, volume] : group.volumes()) types.insert(volume.type());
  for (const std::string& type : types)
    used.push_back({"volume." + type, "the block volume with the type \"" + type + "\""});
  for (const v1::NetworkResource& network : group.networks()) {
    const std::string& mode = network.mode();
    if (mode.empty() || mode == "host") continue;  // the machine's: nobody has to do anything
    used.push_back({"network." + network_name(mode), "the network mode \"" + mode + "\""});
  }
  if (!group.services().empty() || !task.services().empty()) used.push_back({"service", "the block service"});
  return used;
}

Status check_supported(std::span<const Block> used, std::span<const HookInfo> hooks) {
  for (const Block& block : used) {
    const bool is_supported = std::ranges::any_of(hooks, [&](const HookInfo& hook) {
      return std::ranges::find(hook.supports, block.name) != hook.supports.end();
    });
    if (!is_supported) return invalid_argument("this client does not support " + block.text);
  }
  return ok_status();
}

AllocSpec::AllocSpec(v1::Allocation described, std::shared_ptr<const v1::Job> its_job)
    : allocation(std::make_shared<const v1::Allocation>(std::move(described))),
      job(std::move(its_job)),
      group(find_group(*job, allocation->task_group())) {}

const v1::Task* AllocSpec::task(std::string_view name) const {
  return group ? find_task(*group, name) : nullptr;
}

const v1::AllocatedTaskResources& AllocSpec::given(const std::string& task) const {
  const auto& tasks = allocation->allocated_resources().tasks();
  const auto at = tasks.find(task);
  return at == tasks.end() ? v1::AllocatedTaskResources::default_instance() : at->second;
}

v1::TaskEvent task_event(int64_t now_ns, const std::string& type, const std::string& said) {
  v1::TaskEvent event;
  event.set_type(type);
  event.set_time(now_ns);
  event.set_message(said);
  event.set_display_message(said);
  (*event.mutable_details())["message"] = said;
  return event;
}

}  // namespace drover
