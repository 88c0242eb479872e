#include "volume_hooks.h"

#include <algorithm>
#include <map>

#include "drover/model/csi_volume.h"
#include "drover/v1/allocation.pb.h"
#include "drover/v1/job.pb.h"
#include "nomad/plugins/driver.pb.h"

namespace drover::mounts {
namespace {

constexpr const char* kType = "csi";

bool has_volumes(const AllocSpec& spec) {
  return spec.group && std::ranges::any_of(spec.group->volumes(),
                                           [](const auto& volume) { return volume.second.type() == kType; });
}

MountKey key_of(const v1::Allocation& alloc, const v1::VolumeRequest& request) {
  return {Uuid::from_bytes(alloc.id()), alloc.namespace_(), csi_volume_id(request, alloc.name())};
}

Usage usage_of(const v1::VolumeRequest& request) {
  return {request.read_only(), request.access_mode(), request.attachment_mode()};
}

// By the volumes' identifiers. Errors: invalid_argument for one that two blocks ask for in different ways.
Result<std::map<std::string, const v1::VolumeRequest*>> wanted_volumes(const AllocSpec& spec) {
  std::map<std::string, const v1::VolumeRequest*> wanted;
  for (const auto& [name, request] : spec.group->volumes()) {
    if (request.type() != kType) continue;
    const auto [at, is_new] = wanted.emplace(csi_volume_id(request, spec.allocation->name()), &request);
    if (!is_new && usage_of(*at->second) != usage_of(request))
      return invalid_argument("the volume \"" + at->first + "\" is asked for in two ways");
  }
  return wanted;
}

class AllocVolumes final : public AllocHook::Part {
 public:
  AllocVolumes(Clock& clock, Keeper& keeper, HookedAlloc& alloc) : clock_(clock), keeper_(keeper), alloc_(alloc) {
    keeper_.attached(alloc_.id());
  }

  Status prerun(std::stop_token stop) override {
    const AllocSpecPtr spec = alloc_.spec();
    DROVER_TRY(const auto wanted, wanted_volumes(*spec));
    for (const auto& [id, request] : wanted) {
      const auto waits = [&, id = id](const std::string& what) {
        alloc_.tell(task_event(clock_.wall_ns(), "Volume", "Waiting for volume \"" + id + "\": " + what));
      };
      const auto path = keeper_.mount(key_of(*spec->allocation, *request), usage_of(*request),
                                      request->mount_options(), waits, stop);
      if (!path) return path.status().with_context("volume \"" + id + "\"");
    }
    return ok_status();
  }
  Status postrun() override { return keeper_.release(alloc_.id()); }

 private:
  Clock& clock_;
  Keeper& keeper_;
  HookedAlloc& alloc_;
};

class TaskVolumes final : public TaskHook::Part {
 public:
  TaskVolumes(const Keeper& keeper, HookedTask& task) : keeper_(keeper), task_(task) {}

  Status prestart(TaskPrestart& start) override {
    if (start.recovered) return ok_status();
    const AllocSpecPtr spec = task_.spec();
    const v1::Task& task = *spec->task(task_.name());
    for (const v1::VolumeMount& mount : task.volume_mounts()) {
      const auto request = spec->group->volumes().find(mount.volume());
      if (request == spec->group->volumes().end() || request->second.type() != kType) continue;  // somebody else's
      if (start.capabilities.mount_configs() == driver::DriverCapabilities::NO_MOUNTS) {
        return invalid_argument("task driver \"" + task.driver() + "\" for \"" + task.name() +
                                "\" does not support CSI volumes");
      }
      DROVER_TRY(const std::string path, keeper_.mounted_at(key_of(*spec->allocation, request->second)));
      driver::Mount& added = *start.adds.add_mounts();
      added.set_host_path(path);
      added.set_task_path(interpolate(mount.destination(), start.environment, start.node));
      added.set_readonly(request->second.read_only() || mount.read_only());
      added.set_propagation_mode(mount.propagation_mode());
    }
    return ok_status();
  }

 private:
  const Keeper& keeper_;
  HookedTask& task_;
};

}  // namespace

std::unique_ptr<AllocHook::Part> VolumesHook::attach(HookedAlloc& alloc, HookState&) {
  if (!has_volumes(*alloc.spec())) return nullptr;
  return std::make_unique<AllocVolumes>(*clock_, *keeper_, alloc);
}

std::unique_ptr<TaskHook::Part> VolumeMountsHook::attach(HookedTask& task, HookState&) {
  if (!has_volumes(*task.spec())) return nullptr;
  return std::make_unique<TaskVolumes>(*keeper_, task);
}

}  // namespace drover::mounts
