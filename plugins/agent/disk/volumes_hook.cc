#include "disk/host_volumes.h"
#include "drover/v1/job.pb.h"
#include "hooks/standard_hooks.h"
#include "nomad/plugins/driver.pb.h"

namespace drover::agent {
namespace {

class Volumes final : public TaskHook::Part {
 public:
  Volumes(const Client& client, HookedTask& task) : client_(client), task_(task) {}

  Status prestart(TaskPrestart& start) override {
    if (start.recovered) return ok_status();
    const AllocSpecPtr spec = task_.spec();
    return add_host_volumes({.group = *spec->group,
                             .task = *spec->task(task_.name()),
                             .volumes = client_.config.host_volumes,
                             .driver = start.capabilities,
                             .environment = start.environment,
                             .node = start.node},
                            start.adds);
  }

 private:
  const Client& client_;
  HookedTask& task_;
};

class VolumesHook final : public TaskHook {
 public:
  explicit VolumesHook(const ClientSlot& client) : client_(client) {}
  HookInfo info() const override {
    return {.name = "volumes",
            .after = {"dispatch_payload"},
            .before = {"devices", "artifacts"},
            .supports = {"volume.host", "volume_mount"}};
  }
  std::unique_ptr<Part> attach(HookedTask& task, HookState&) override {
    return std::make_unique<Volumes>(*client_, task);
  }

 private:
  const ClientSlot& client_;
};

}  // namespace

std::unique_ptr<TaskHook> volumes_hook(const ClientSlot& client) { return std::make_unique<VolumesHook>(client); }

}  // namespace drover::agent
