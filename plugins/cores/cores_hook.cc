#include "cores_hook.h"

#include "drover/v1/allocation.pb.h"
#include "nomad/plugins/driver.pb.h"

namespace drover::cores {
namespace {

class TaskCores final : public TaskHook::Part {
 public:
  TaskCores(Partition& partition, HookedTask& task)
      : partition_(partition), task_(task), name_(task.allocation().to_string() + "." + task.name()) {}

  Status prestart(TaskPrestart& start) override {
    const auto& reserved = task_.spec()->given(task_.name()).cpu().reserved_cores();
    DROVER_TRY(std::string group, reserved.empty() ? partition_.share(name_)
                                                   : partition_.reserve(name_, {reserved.begin(), reserved.end()}));
    start.adds.mutable_resources()->mutable_linux_resources()->set_cpuset_cgroup(std::move(group));
    return ok_status();
  }
  Status stop() override { return partition_.release(name_), ok_status(); }

 private:
  Partition& partition_;
  HookedTask& task_;
  const std::string name_;
};

}  // namespace

std::unique_ptr<TaskHook::Part> CoresHook::attach(HookedTask& task, HookState&) {
  return partition_ ? std::make_unique<TaskCores>(*partition_, task) : nullptr;
}

}  // namespace drover::cores
