#include "alloc_dir.h"
#include "client_hook.h"
#include "nomad/plugins/driver.pb.h"

namespace drover::agent {
namespace {

class Environment final : public TaskHook::Part {
 public:
  Environment(const Client& client, HookedTask& task, HookState&) : client_(client), task_(task) {}

  Status prestart(TaskPrestart& start) override {
    const AllocSpecPtr spec = task_.spec();
    const auto isolation = start.capabilities.fs_isolation();
    const bool has_image = isolation == driver::DriverCapabilities::IMAGE;
    const bool has_own_files = has_image || isolation == driver::DriverCapabilities::CHROOT;
    const auto node = client_.node();
    const v1::NetworkStatus network = task_.network_status();
    const Variables all = task_environment({.job = *spec->job,
                                            .allocation = *spec->allocation,
                                            .task = *spec->task(task_.name()),
                                            .node = start.node,
                                            .region = client_.host.agent().region,
                                            .datacenter = node->datacenter(),
                                            .paths = paths_seen(task_.alloc_folders(), task_.folders(), has_own_files),
                                            .host = has_image ? nullptr : &client_.host_environment,
                                            .network = &network});
    start.adds.mutable_env()->insert(all.begin(), all.end());
    return ok_status();
  }

 private:
  const Client& client_;
  HookedTask& task_;
};

}  // namespace

std::unique_ptr<TaskHook> environment_hook(const ClientSlot& client) {
  return std::make_unique<ClientHook<Environment>>(client, HookInfo{.name = "environment"});
}

}  // namespace drover::agent
