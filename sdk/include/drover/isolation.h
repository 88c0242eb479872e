// The parts of a task's isolation, for drivers whose tasks are processes (drover/process_driver.h). A driver names the
// parts that it combines; its base does the same with each of them for every task:
//
//   set_up ──▶ apply to what the launcher is told ──▶ the task runs ──▶ no process is left ──▶ tear_down
//      │          └ again for each command beside it                         ▲
//      └─ state() in the task's handle ──the agent or the driver restarts──▶ recover
//
// Parts are set up in the driver's order and torn down in the reverse one.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

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

// The rights that a task's processes are left with.
struct Rights {
  uint64_t capabilities = 0;  // bit N: capability N
  bool no_new_privileges = true;
  bool are_calls_filtered = true;  // no calls to the kernel that a program in a container has no use for
};

// How far the parts go for one task. A driver decides it once for each start (ProcessDriver::isolation_needs).
struct IsolationNeeds {
  CgroupLimits limits{};        // of its control group
  uint32_t own_namespaces = 0;  // of Confinement::Own but for mounts
  Rights rights{};
};

class IsolationPart {
 public:
  virtual ~IsolationPart() = default;
  // Handles keep state() under this name, so it never changes and no other part has it. Constant. [any]
  virtual std::string_view name() const = 0;
  // Adds what a driver can do because of this part. The default adds nothing. [any]
  virtual void describe(driver::DriverCapabilities& capabilities) const;
  // True: the task's folder becomes its root, where its programs and users are then looked for. Constant. [any]
  virtual bool makes_root() const { return false; }
  // Makes what the task needs. Null: the task needs nothing. An error fails the start and leaves nothing behind. [any]
  virtual Result<std::unique_ptr<TaskIsolation>> set_up(const driver::TaskConfig& task,
                                                        const IsolationNeeds& needs) = 0;
  // Finds what was made for a task, under whatever settings. `state`: from its handle, empty when it holds none. Null:
  // nothing was made. Errors: invalid_argument for a state that cannot be used. [any]
  virtual Result<std::unique_ptr<TaskIsolation>> recover(const driver::TaskConfig& task, std::string_view state) = 0;
};

// A control group for each task, PARENT/<id>, in every tree of `layout`; with the mode `none` no task gets one. It
// counts what the task uses, finds its processes wherever they hide, and limits them as the task needs. Tasks are told
// the parent as NOMAD_PARENT_CGROUP. A group of processors that the client has made (linux_resources.cpuset_cgroup) is
// joined besides; with version 2 it is the task's group. State: the group's path, under "cgroup". Errors:
// failed_precondition for limits on a machine without control groups.
std::unique_ptr<IsolationPart> control_groups(CgroupLayout layout, std::string parent);
// The limits that a task's resources ask for: memory and its reserve, processor shares, a quota when one is named, the
// cores that are reserved. Errors: invalid_argument.
Result<CgroupLimits> limits_of(const driver::TaskConfig& task);
// The devices that every task in a root of its own may use, and those that it was given. Errors: invalid_argument for a
// path of this machine that is no device.
Result<std::vector<CgroupLimits::Device>> devices_of(const driver::TaskConfig& task);

// The network namespace that the task's configuration names, made by somebody else; without a name the task has the
// network of the machine. No state.
std::unique_ptr<IsolationPart> network_namespace();

// The namespaces of its own that the task needs. Its host name is that of its group's network, where it has one. State:
// which, under "namespaces".
std::unique_ptr<IsolationPart> own_namespaces();

// The task's folder as its root: processes, kernel and devices are shown in /proc, /sys and /dev, masked as containers
// have it, beside the mounts and devices that the task is given, with resolv.conf and hosts by its network. Programs,
// and users by their names, are looked for in there. No state.
struct RootOptions {
  bool is_pivoted = true;  // false only where the machine's root cannot be left, such as an initial RAM disk
};
std::unique_ptr<IsolationPart> own_root(RootOptions options = {});

// Leaves a task's processes the rights that it needs. State under "rights".
std::unique_ptr<IsolationPart> reduced_rights();

// The names of capabilities, in any case, with or without "CAP_"; "all" are all. Pure. Errors: invalid_argument, as
// "WHERE configured with capabilities not supported by system: …".
Result<uint64_t> capabilities_of(const std::vector<std::string>& names, std::string_view where);
struct CapabilityWishes {
  std::vector<std::string> add, drop;
};
// (`basis` ∩ `allowed` − drop) ∪ add. Pure. Errors: invalid_argument for unknown names, and for what `allowed` lacks.
Result<uint64_t> decide_capabilities(uint64_t basis, uint64_t allowed, const CapabilityWishes& wishes);
// The capabilities that operators allow and, of those, tasks have unless somebody says otherwise: the ones that read
// and change files of others, and become others, are for root, who asks for the rest of them by being root.
std::vector<std::string> default_allowed_capabilities();
uint64_t default_capabilities(bool is_root);

}  // namespace drover
