#include "exec_driver.h"

#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>

#include "drover/hclspec.h"
#include "drover/plugin.h"
#include "nomad/plugins/base.pb.h"
#include "nomad/plugins/driver.pb.h"
#include "nomad/plugins/hclspec.pb.h"

namespace drover::exec {
namespace {

constexpr std::string_view kDefaultUser = "nobody";
constexpr std::string_view kDecode = "failed to decode driver config", kValidate = "failed driver config validation",
                           kLaunch = "failed to launch command with executor";

uint32_t processors() { return static_cast<uint32_t>(std::max(::sysconf(_SC_NPROCESSORS_ONLN), 1L)); }

// The youngest of the calls by which the launcher makes a root.
bool has_mount_calls() { return ::syscall(SYS_mount_setattr, -1, "", 0, nullptr, 0) == 0 || errno != ENOSYS; }

}  // namespace

hclspec::Spec ExecDriver::config_schema() const {
  return hclspec::object_of(
      {{.name = "no_pivot_root",
        .type = "bool",
        .default_literal = "false",
        .help =
            "Move a task's root over the machine's, which then stays beneath: for machines whose root is an initial "
            "RAM disk."},
       {.name = "default_pid_mode",
        .type = "string",
        .default_literal = "\"private\"",
        .help = "\"private\": tasks see their own processes only; \"host\": all of this machine."},
       {.name = "default_ipc_mode",
        .type = "string",
        .default_literal = "\"private\"",
        .help = "\"private\": tasks have System V objects and message queues of their own; \"host\": this machine's."},
       {.name = "allow_caps",
        .type = "list(string)",
        .help =
            "Capabilities that tasks may have. Unless said: audit_write, chown, dac_override, fowner, fsetid, kill, "
            "mknod, net_bind_service, setfcap, setgid, setpcap, setuid, sys_chroot."},
       {.name = "no_new_privs",
        .type = "bool",
        .default_literal = "true",
        .help = "Programs with a setuid or setgid bit, or with capabilities of their own, give a task no rights."},
       {.name = "seccomp",
        .type = "bool",
        .default_literal = "true",
        .help =
            "Refuse calls to the kernel that reach out of a task: mounts, modules, ptrace, namespaces, keys, clocks."},
       {.name = "pids_limit",
        .type = "number",
        .default_literal = "0",
        .help = "Most processes and threads of a task; a job may ask for fewer. 0: no limit."},
       {.name = "launcher_dir",
        .type = "string",
        .help = "Absolute path of the folder with the launcher's socket. Unless said, inside the agent the agent's, "
                "for a program /run/drover-exec."}});
}

Status ExecDriver::configure(const hashicorp::nomad::plugins::base::proto::SetConfigRequest& request) {
  DROVER_TRY(TaskOptions raw, TaskOptions::from_msgpack(request.msgpack_config()));
  DROVER_TRY(Options wanted, read_options(raw));
  if (!configured_) {
    open(std::move(wanted));
    configured_ = request.msgpack_config();
  } else if (*configured_ != request.msgpack_config()) {
    return failed_precondition("exec is configured already; another configuration needs a new process");
  }
  return ok_status();
}

void ExecDriver::open(Options options) {
  options_ = std::move(options);
  layout_ = detect_cgroups();
  if (!options_.launcher.folder.empty()) set_launcher(options_.launcher);
  // Each asks for what the task wants when the task starts.
  const auto of_wishes = [this](auto decide) {
    return [this, decide](const driver::TaskConfig& task) -> decltype(decide(TaskWishes(), task)) {
      DROVER_TRY(const TaskWishes wishes, wishes_of(task));
      return decide(wishes, task);
    };
  };
  std::vector<std::unique_ptr<IsolationPart>> parts;
  parts.push_back(network_namespace());
  parts.push_back(control_groups(layout_, options_.cgroup_parent,
                                 of_wishes([this](const TaskWishes& wishes, const driver::TaskConfig& task) {
                                   return task_limits(options_, wishes, task, processors());
                                 })));
  parts.push_back(own_namespaces(of_wishes(
      [this](const TaskWishes& wishes, const driver::TaskConfig&) { return own_namespaces_of(options_, wishes); })));
  parts.push_back(own_root({.is_pivoted = options_.is_pivoted}));
  parts.push_back(reduced_rights(of_wishes([this](const TaskWishes& wishes, const driver::TaskConfig& task) {
    return rights_of(options_, wishes, task.user());
  })));
  isolate_with(std::move(parts));
}

driver::FingerprintResponse ExecDriver::fingerprint() {
  driver::FingerprintResponse print;
  print.set_health(driver::FingerprintResponse::UNHEALTHY);
  if (::geteuid() != 0) {
    print.set_health(driver::FingerprintResponse::UNDETECTED);
    print.set_health_description("Driver must run as root");
  } else if (layout_.mode == CgroupLayout::Mode::none) {
    print.set_health_description("Cgroup mount point unavailable");
  } else if (!has_mount_calls()) {
    print.set_health_description("this kernel lacks mount_setattr; Linux 5.12 has it");
  } else {
    return ProcessDriver::fingerprint();
  }
  return print;
}

hclspec::Spec ExecDriver::task_config_schema() const {
  return hclspec::object_of({{.name = "command", .type = "string", .is_required = true},
                             {.name = "args", .type = "list(string)"},
                             {.name = "pid_mode", .type = "string"},
                             {.name = "ipc_mode", .type = "string"},
                             {.name = "cap_add", .type = "list(string)"},
                             {.name = "cap_drop", .type = "list(string)"},
                             {.name = "cpu_hard_limit", .type = "bool"},
                             {.name = "pids_limit", .type = "number"}});
}

Result<ProcessDriver::Command> ExecDriver::command(const driver::TaskConfig& task, TaskOptions& options) {
  auto wishes = read_wishes(options);
  if (!wishes) return wishes.status().with_context(kDecode);
  DROVER_RETURN_IF_ERROR(own_namespaces_of(options_, *wishes).status().with_context(kValidate));
  DROVER_RETURN_IF_ERROR(rights_of(options_, *wishes, task.user()).status().with_context(kValidate));
  return Command{.program = wishes->command,
                 .arguments = wishes->arguments,
                 .user = task.user().empty() ? std::string(kDefaultUser) : task.user()};
}

Result<driver::StartTaskResponse> ExecDriver::start_task(const driver::TaskConfig& config) {
  auto started = ProcessDriver::start_task(config);
  if (started.ok() || started.status().message().starts_with("failed ")) return started;
  return started.status().with_context(kLaunch);
}

}  // namespace drover::exec
