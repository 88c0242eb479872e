#include "disk/host_volumes.h"
#include "drover/host_volume_source.h"
#include "drover/v1/job.pb.h"
#include "hooks/client_hook.h"
#include "nomad/plugins/driver.pb.h"

namespace drover::agent {
namespace {

class Volumes final : public TaskHook::Part {
 public:
  Volumes(const Client& client, HookedTask& task, HookState&) : client_(client), task_(task) {}

  Status prestart(TaskPrestart& start) override {
    if (start.recovered) return ok_status();
    const AllocSpecPtr spec = task_.spec();
    const std::string& name_space = spec->allocation->namespace_();
    const FindVolume others = [&](const std::string& name) -> std::optional<std::string> {
      for (const std::string& source : client_.host.extensions<HostVolumeSource>()) {
        if (auto path = client_.host.extension<HostVolumeSource>(source)->find(name_space, name)) return path;
      }
      return std::nullopt;
    };
    return add_host_volumes({.group = *spec->group,
                             .task = *spec->task(task_.name()),
                             .alloc_name = spec->allocation->name(),
                             .volumes = client_.config.host_volumes,
                             .others = others,
                             .driver = start.capabilities,
                             .environment = start.environment,
                             .node = start.node},
                            start.adds);
  }

 private:
  const Client& client_;
  HookedTask& task_;
};

}  // namespace

std::unique_ptr<TaskHook> volumes_hook(const ClientSlot& client) {
  return std::make_unique<ClientHook<Volumes>>(client, HookInfo{.name = "volumes",
                                                                .after = {"dispatch_payload"},
                                                                .before = {"devices", "artifacts"},
                                                                .supports = {"volume.host", "volume_mount"}});
}

}  // namespace drover::agent
