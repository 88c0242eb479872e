#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "disk/secrets.h"
#include "drover/dynamic_user.h"
#include "hooks/standard_hooks.h"
#include "nomad/plugins/driver.pb.h"
#include "users/task_user.h"
#include "users/user_pool.h"

namespace drover::agent {
namespace {

constexpr std::string_view kUserKey = "user";

// True when the driver's tasks are among the machine's files, and closed off from each other by whom these belong to.
bool owns_its_folder(const driver::DriverCapabilities& driver, bool is_dynamic) {
  return driver.fs_isolation() == driver::DriverCapabilities::UNVEIL ||
         (is_dynamic && driver.fs_isolation() == driver::DriverCapabilities::NONE);
}

// Nobody else gets past the task's folder from now on.
Status give_folders(const AllocFolders& alloc, const TaskFolders& task, const TaskUser& user) {
  const auto failed = [](const std::string& path) { return errno_status(errno, "set the owner of " + path); };
  const Fd root(::open(task.root.c_str(), O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
  if (!root || ::fchownat(root.get(), "", user.id, user.group, AT_EMPTY_PATH) != 0) return failed(task.root);
  if (::chmod(("/proc/self/fd/" + std::to_string(root.get())).c_str(), 0710) != 0) return failed(task.root);
  const Fd secrets = open_secrets(alloc, task);
  const bool is_given = secrets && ::fchownat(secrets.get(), "", user.id, user.group, AT_EMPTY_PATH) == 0;
  return is_given ? ok_status() : failed(task.secrets);
}

class WorkloadUser final : public TaskHook::Part {
 public:
  WorkloadUser(const ClientSlot& client, UserPool& pool, HookedTask& task, HookState& state)
      : client_(client), pool_(pool), task_(task), state_(state) {
    if (const auto id = dynamic_user_id(state.get(kUserKey).value_or(""))) lease_ = pool_.keep(*id);
  }

  Status prestart(TaskPrestart& start) override {
    const bool is_dynamic = start.capabilities.dynamic_workload_users() && start.user.empty();
    if (is_dynamic && !lease_ && !start.recovered) DROVER_RETURN_IF_ERROR(take());
    if (is_dynamic && lease_) start.adds.set_user(dynamic_user_name(lease_->id()));
    if (start.recovered || !owns_its_folder(start.capabilities, is_dynamic) || ::geteuid() != 0) return ok_status();
    const std::string& name = is_dynamic ? start.adds.user() : start.user;
    if (name.empty()) return ok_status();
    DROVER_TRY(const TaskUser user, task_user(name));
    return give_folders(task_.alloc_folders(), task_.folders(), user);
  }
  Status stop() override {
    if (lease_) lease_->retire();
    return ok_status();
  }

 private:
  Status take() {
    if (::geteuid() != 0) return failed_precondition("only an agent that is root gives tasks users of their own");
    const auto& range = client_->config.users;
    if (!range) return failed_precondition("dynamic workload users disabled");
    DROVER_TRY(auto lease, pool_.take(*range));
    // On disk before anybody hears of it: the next agent must not give it to another task.
    DROVER_RETURN_IF_ERROR(state_.put(kUserKey, dynamic_user_name(lease->id())));
    lease_ = std::move(lease);
    return ok_status();
  }

  const ClientSlot& client_;
  UserPool& pool_;
  HookedTask& task_;
  HookState& state_;
  std::unique_ptr<UserPool::Lease> lease_;  // null: it has none
};

class WorkloadUsersHook final : public TaskHook {
 public:
  explicit WorkloadUsersHook(const ClientSlot& client) : client_(client) {}
  HookInfo info() const override {
    return {.name = "workload_users", .after = {"task_dir"}, .before = {"secrets", "logs"}};
  }
  std::unique_ptr<Part> attach(HookedTask& task, HookState& state) override {
    return std::make_unique<WorkloadUser>(client_, pool_, task, state);
  }

 private:
  const ClientSlot& client_;
  UserPool pool_;
};

}  // namespace

std::unique_ptr<TaskHook> workload_users_hook(const ClientSlot& client) {
  return std::make_unique<WorkloadUsersHook>(client);
}

}  // namespace drover::agent
