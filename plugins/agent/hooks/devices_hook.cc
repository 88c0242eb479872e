#include "client_hook.h"
#include "drover/v1/job.pb.h"
#include "nomad/plugins/device.pb.h"
#include "nomad/plugins/driver.pb.h"

namespace drover::agent {
namespace {

// Set while the task has them: a task that outlives the agent still has them when the next one starts.
constexpr std::string_view kHeld = "held";

void add(const device::ContainerReservation& reserved, driver::TaskConfig& adds) {
  for (const auto& [name, value] : reserved.envs()) {
    (*adds.mutable_env())[name] = value;
    (*adds.mutable_device_env())[name] = value;
  }
  for (const device::Mount& from : reserved.mounts()) {
    driver::Mount& mount = *adds.add_mounts();
    mount.set_host_path(from.host_path());
    mount.set_task_path(from.task_path());
    mount.set_readonly(from.read_only());
  }
  for (const device::DeviceSpec& from : reserved.devices()) {
    driver::Device& device = *adds.add_devices();
    device.set_host_path(from.host_path());
    device.set_task_path(from.task_path());
    device.set_cgroup_permissions(from.permissions());
  }
}

class GivenDevices final : public TaskHook::Part {
 public:
  GivenDevices(const Client& client, HookedTask& task, HookState& state)
      : devices_(client.devices), task_(task), state_(state), holder_(task.allocation().to_string() + "/" + task.name()) {
    if (state_.get(kHeld)) devices_.hold(holder_, task_.spec()->given(task_.name()));
  }

  Status prestart(TaskPrestart& start) override {
    const AllocSpecPtr spec = task_.spec();
    const v1::AllocatedTaskResources& given = spec->given(task_.name());
    if (start.recovered || given.devices().empty()) return ok_status();
    DROVER_TRY(const device::ContainerReservation reserved, devices_.reserve(holder_, given, start.stop));
    add(reserved, start.adds);
    return state_.put(kHeld, "yes");
  }
  Status exited() override {
    devices_.release(holder_);
    return state_.get(kHeld) ? state_.put(kHeld, "") : ok_status();
  }

 private:
  Devices& devices_;
  HookedTask& task_;
  HookState& state_;
  const std::string holder_;
};

}  // namespace

std::unique_ptr<TaskHook> devices_hook(const ClientSlot& client) {
  return std::make_unique<ClientHook<GivenDevices>>(client, HookInfo{.name = "devices", .after = {"dispatch_payload"}});
}

}  // namespace drover::agent
