#include <set>

#include "alloc_dir.h"
#include "chroot.h"
#include "client_hook.h"
#include "nomad/plugins/driver.pb.h"

namespace drover::agent {
namespace {

// Set once the task's folder has got what it gets of the machine: what lies there from then on may be the task's.
constexpr std::string_view kFilled = "filled";

class TaskDir final : public TaskHook::Part {
 public:
  TaskDir(const Client& client, HookedTask& task, HookState& state) : client_(client), task_(task), state_(state) {}

  Status prestart(TaskPrestart& start) override {
    if (start.recovered) return ok_status();
    DROVER_RETURN_IF_ERROR(create_task_folders(task_.name(), task_.folders()));
    if (start.capabilities.fs_isolation() != driver::DriverCapabilities::CHROOT) return ok_status();
    // The driver makes the task's folder its root: the machine's programs and the shared folder have to be there.
    const std::string& root = task_.folders().root;
    const bool can_show = start.capabilities.mount_configs() != driver::DriverCapabilities::NO_MOUNTS;
    const std::set<std::string> skip = {client_.config.alloc_dir};
    const ChrootPlan plan = plan_chroot(client_.config.chroot_env, skip, can_show);
    if (!plan.linked.empty() && !state_.get(kFilled)) {
      DROVER_RETURN_IF_ERROR(build_chroot(root, plan.linked, skip, start.stop));
      DROVER_RETURN_IF_ERROR(state_.put(kFilled, "yes"));
    }
    for (const auto& [source, place] : plan.shown) show(source, place, start.adds);
    if (can_show) {
      // The links lead to the machine's own files: whoever may write there would write to those.
      for (const std::string& path : filled_paths(root, plan.linked)) show(root + path, path, start.adds);
    }
    return show_shared(task_.alloc_folders(), root);
  }

 private:
  static void show(const std::string& source, const std::string& place, driver::TaskConfig& adds) {
    driver::Mount& mount = *adds.add_mounts();
    mount.set_task_path(place);
    mount.set_host_path(source);
    mount.set_readonly(true);
  }

  const Client& client_;
  HookedTask& task_;
  HookState& state_;
};

}  // namespace

std::unique_ptr<TaskHook> task_dir_hook(const ClientSlot& client) {
  return std::make_unique<ClientHook<TaskDir>>(client, HookInfo{.name = "task_dir", .after = {"environment"}});
}

}  // namespace drover::agent
