// The parts of a task's isolation, for drivers whose tasks are processes (drover/process_driver.h). A driver names the
// parts that it combines; its base does the same with each of them for every task:
//
//   set_up ──▶ apply to what the launcher is told ──▶ the task runs ──▶ no process is left ──▶ tear_down
//      │          └ again for each command beside it                         ▲
//      └─ state() in the task's handle ──the agent or the driver restarts──▶ recover
//
// Parts are set up in the driver's order and torn down in the reverse one.
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "drover/cgroup.h"
#include "drover/launcher.h"
#include "drover/task_driver.h"

namespace drover {

// One part as it was made for one task. Constant. [any]
class TaskIsolation {
 public:
  virtual ~TaskIsolation() = default;
  // Text that recover() finds it again by. The default: none.
  virtual std::string state() const { return {}; }
  // Tells the launcher of it: for the task's first process, and for every command beside it.
  virtual void apply(Launcher::Start& start) const = 0;
  // The control group that holds all processes of the task; null: this part has none.
  virtual const Cgroup* cgroup() const { return nullptr; }
  // Removes what set_up made; no process of the task is left. Idempotent. The default removes nothing.
  virtual Status tear_down() const { return ok_status(); }
};

class IsolationPart {
 public:
  virtual ~IsolationPart() = default;
  // Handles keep state() under this name, so it never changes and no other part has it. Constant. [any]
  virtual std::string_view name() const = 0;
  // Adds what a driver can do because of this part. The default adds nothing. [any]
  virtual void describe(driver::DriverCapabilities& capabilities) const;
  // Makes what the task needs. Null: the task needs nothing. An error fails the start and leaves nothing behind. [any]
  virtual Result<std::unique_ptr<TaskIsolation>> set_up(const driver::TaskConfig& task) = 0;
  // Finds what was made for a task, under whatever settings. `state`: from its handle, empty when it holds none. Null:
  // nothing was made. Errors: invalid_argument for a state that cannot be used. [any]
  virtual Result<std::unique_ptr<TaskIsolation>> recover(const driver::TaskConfig& task, std::string_view state) = 0;
};

// A control group for each task, PARENT/<id>, in every tree of `layout`; with the mode `none` no task gets one. It
// limits nothing: it counts what the task uses, and finds its processes wherever they hide. Tasks are told the parent
// as NOMAD_PARENT_CGROUP. State: the group's path, under "cgroup".
std::unique_ptr<IsolationPart> control_groups(CgroupLayout layout, std::string parent);

// The network namespace that the task's configuration names, made by somebody else; without a name the task has the
// network of the machine. No state.
std::unique_ptr<IsolationPart> network_namespace();

}  // namespace drover
