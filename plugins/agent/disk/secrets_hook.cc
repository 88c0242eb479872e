#include <unistd.h>

#include <algorithm>
#include <charconv>

#include "disk/secrets.h"
#include "drover/dynamic_user.h"
#include "drover/log.h"
#include "drover/v1/task.pb.h"
#include "hooks/standard_hooks.h"
#include "nomad/plugins/driver.pb.h"

namespace drover::agent {
namespace {

constexpr int kDefaultSizeMb = 1;

// The names of users inside of an image, or of a root of its own, are not this machine's: there the driver knows them.
// Nothing: the agent's.
std::optional<TaskUser> owner_of(const std::string& user, const driver::DriverCapabilities& driver) {
  const std::optional<TaskUser> none;
  uid_t number = 0;
  const bool is_number =
      std::from_chars(user.data(), user.data() + user.size(), number).ptr == user.data() + user.size();
  if (user.empty()) return none;
  const auto isolation = driver.fs_isolation();
  const bool is_dynamic = driver.dynamic_workload_users() && dynamic_user_id(user);
  if (isolation == driver::DriverCapabilities::IMAGE && !is_dynamic)
    return is_number ? std::optional(TaskUser{number, static_cast<gid_t>(-1)}) : none;
  if (isolation == driver::DriverCapabilities::CHROOT && !is_dynamic) return none;
  const auto found = task_user(user);
  return found ? std::optional(*found) : none;
}

// An image has users of its own, and may say which of them its program is: nobody here knows who that will be.
bool may_be_anybodys(const std::string& user, const driver::DriverCapabilities& driver) {
  return driver.fs_isolation() == driver::DriverCapabilities::IMAGE && !owner_of(user, driver);
}

class Secrets final : public TaskHook::Part {
 public:
  explicit Secrets(HookedTask& task) : task_(task) {}

  Status prestart(TaskPrestart& start) override {
    if (start.recovered) return ok_status();
    const AllocSpecPtr spec = task_.spec();
    const v1::Task& task = *spec->task(task_.name());
    const bool is_open = may_be_anybodys(start.user, start.capabilities);
    if (is_open && !are_in_memory(task_.alloc_folders(), task_.folders()))
      DROVER_RETURN_IF_ERROR(open_to_all(task_.folders()));
    // An agent that is not root has them in a plain folder.
    if (::geteuid() != 0) return ok_status();
    const Status status = mount_secrets(task_.alloc_folders(), task_.folders(),
                                        {.size_mb = std::max(kDefaultSizeMb, task.resources().secrets_mb()),
                                         .owner = owner_of(start.user, start.capabilities),
                                         .is_open = is_open});
    if (status.code() != Code::permission_denied) return status;
    // Root in a container may not mount: its operator hears of it, and the task runs.
    log::warn("agent", "the secrets of a task lie on disk: this agent may not mount",
              {{"alloc", task_.allocation().to_string()}, {"task", task_.name()}, {"error", status.message()}});
    return ok_status();
  }

 private:
  HookedTask& task_;
};

class SecretsHook final : public TaskHook {
 public:
  HookInfo info() const override { return {.name = "secrets", .after = {"task_dir"}, .before = {"logs"}}; }
  std::unique_ptr<Part> attach(HookedTask& task, HookState&) override { return std::make_unique<Secrets>(task); }
};

}  // namespace

std::unique_ptr<TaskHook> secrets_hook() { return std::make_unique<SecretsHook>(); }

}  // namespace drover::agent
