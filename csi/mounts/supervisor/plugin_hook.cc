#include "supervisor/plugin_hook.h"

#include <unistd.h>

#include <filesystem>

#include "csi/protocol/client.h"
#include "drover/log.h"
#include "drover/v1/allocation.pb.h"
#include "drover/v1/job.pb.h"
#include "nomad/plugins/driver.pb.h"
#include "supervisor/closed_folder.h"

namespace drover::mounts {
namespace {

constexpr const char* kEndpoint = "CSI_ENDPOINT";

// The task's place among those of its group that are plugins, by their names.
size_t number_of(const v1::TaskGroup& group, const std::string& name) {
  size_t before = 0;
  for (const v1::Task& task : group.tasks()) {
    if (task.has_csi_plugin_config() && task.name() < name) ++before;
  }
  return before;
}

void add_mount(driver::TaskConfig& adds, const std::string& from, const std::string& to, const char* propagation) {
  driver::Mount& mount = *adds.add_mounts();
  mount.set_host_path(from);
  mount.set_task_path(to);
  mount.set_propagation_mode(propagation);
}

class PluginTask final : public TaskHook::Part {
 public:
  PluginTask(const PluginHook::Setup& setup, HookedTask& task, const v1::CsiPluginConfig& config)
      : setup_(setup), task_(task), config_(config) {}
  ~PluginTask() override { end(); }

  Status prestart(TaskPrestart& start) override {
    end();
    const AllocSpecPtr spec = task_.spec();
    folder_ = setup_.folders->socket_folder(task_.allocation(), number_of(*spec->group, task_.name()));
    DROVER_TRY(const std::string socket, Folders::socket(folder_));
    DROVER_TRY(const std::string base, setup_.folders->base(config_.type(), config_.id()));
    const bool sees_machine = start.capabilities.fs_isolation() == driver::DriverCapabilities::NONE;
    if (!sees_machine && start.capabilities.mount_configs() == driver::DriverCapabilities::NO_MOUNTS) {
      return invalid_argument("task driver \"" + spec->task(task_.name())->driver() + "\" for \"" + task_.name() +
                              "\" does not support mounts, which a storage plugin needs");
    }
    DROVER_RETURN_IF_ERROR(make_closed_folder(setup_.folders->root()));
    DROVER_RETURN_IF_ERROR(make_closed_folder(folder_));
    DROVER_RETURN_IF_ERROR(make_closed_folder(base));
    if (!start.recovered) (void)::unlink(socket.c_str());  // a former start's
    if (!sees_machine) {
      add_mount(start.adds, folder_, config_.mount_dir(), "bidirectional");
      add_mount(start.adds, base, config_.stage_publish_base_dir(), "bidirectional");
      add_mount(start.adds, "/dev", "/dev", "private");
    }
    if (!start.environment.contains(kEndpoint))
      (*start.adds.mutable_env())[kEndpoint] = "unix://" + (sees_machine ? socket : config_.mount_dir() + "/csi.sock");
    socket_ = socket;
    base_ = base;
    base_seen_ = sees_machine ? base : config_.stage_publish_base_dir();
    return ok_status();
  }

  Status poststart() override {
    if (socket_.empty()) return failed_precondition("the folders of the storage plugin could not be made");
    auto instance = std::make_shared<const Instance>(Instance{.plugin_id = config_.id(),
                                                              .type = config_.type(),
                                                              .alloc = task_.allocation(),
                                                              .base = base_,
                                                              .base_seen = base_seen_,
                                                              .client = setup_.connect(socket_)});
    Clock& clock = setup_.host->clock();
    supervision_ = std::make_unique<Supervision>(
        Supervision::Setup{
            .clock = clock,
            .instances = *setup_.instances,
            .timing = setup_.timing,
            .socket = socket_,
            .health_timeout = std::chrono::nanoseconds(config_.health_timeout()),
            .tell = [this, &clock](const std::string& type,
                                   const std::string& text) { task_.tell(task_event(clock.wall_ns(), type, text)); },
            .restart_failed =
                [this](const std::string& why) {
                  if (const Status status = task_.restart_failed(why); !status.ok())
                    log::warn("mounts", "a storage plugin is not restarted", {{"error", status.message()}});
                }},
        std::move(instance));
    return ok_status();
  }
  Status exited() override { return end(), ok_status(); }
  Status stop() override {
    end();
    if (folder_.empty()) return ok_status();
    std::error_code error;
    std::filesystem::remove_all(folder_, error);
    return error ? errno_status(error.value(), "remove " + folder_) : ok_status();
  }
  void shutdown() override { end(); }

 private:
  void end() { supervision_.reset(); }

  const PluginHook::Setup& setup_;
  HookedTask& task_;
  const v1::CsiPluginConfig config_;
  std::string folder_, socket_, base_, base_seen_;
  std::unique_ptr<Supervision> supervision_;
};

}  // namespace

std::unique_ptr<TaskHook::Part> PluginHook::attach(HookedTask& task, HookState&) {
  const AllocSpecPtr spec = task.spec();
  const v1::Task* described = spec->task(task.name());
  if (!described || !described->has_csi_plugin_config()) return nullptr;
  return std::make_unique<PluginTask>(setup_, task, described->csi_plugin_config());
}

}  // namespace drover::mounts
