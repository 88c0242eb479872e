#include "drover/isolated_driver.h"

#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>

#include "drover/hclspec.h"
#include "isolation/task_wishes.h"
#include "nomad/plugins/base.pb.h"
#include "nomad/plugins/driver.pb.h"
#include "nomad/plugins/hclspec.pb.h"

namespace drover {
namespace {

constexpr std::string_view kDefaultUser = "nobody";
constexpr std::string_view kDecode = "failed to decode driver config", kValidate = "failed driver config validation",
                           kLaunch = "failed to launch command with executor";

uint32_t processors() { return static_cast<uint32_t>(std::max(::sysconf(_SC_NPROCESSORS_ONLN), 1L)); }

// The youngest of the calls by which the launcher makes a root.
bool has_mount_calls() { return ::syscall(SYS_mount_setattr, -1, "", 0, nullptr, 0) == 0 || errno != ENOSYS; }

}  // namespace

IsolatedDriver::IsolatedDriver(std::string name) : ProcessDriver(std::move(name)) {}

IsolatedDriver::~IsolatedDriver() = default;

hclspec::Spec IsolatedDriver::with(hclspec::Spec schema, const hclspec::Spec& other) {
  schema.MergeFrom(other);
  return schema;
}

hclspec::Spec IsolatedDriver::config_schema() const {
  return hclspec::object_of(
      {{.name = "default_pid_mode",
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
       launcher_option()});
}

Result<IsolationOptions> IsolatedDriver::read_options(TaskOptions& raw) const { return read_isolation_options(raw); }

Status IsolatedDriver::configure(const hashicorp::nomad::plugins::base::proto::SetConfigRequest& request) {
  DROVER_TRY(TaskOptions raw, TaskOptions::from_msgpack(request.msgpack_config()));
  DROVER_TRY(IsolationOptions wanted, read_options(raw));
  DROVER_RETURN_IF_ERROR(raw.finish());
  return configure_once(request, [&] { open(std::move(wanted)); });
}

void IsolatedDriver::open(IsolationOptions options) {
  options_ = std::move(options);
  layout_ = detect_cgroups();
  if (!options_.launcher.folder.empty()) set_launcher(options_.launcher);
  std::vector<std::unique_ptr<IsolationPart>> parts;
  parts.push_back(network_namespace());
  parts.push_back(control_groups(layout_, options_.cgroup_parent));
  parts.push_back(own_namespaces());
  parts.push_back(own_root({.is_pivoted = options_.is_pivoted}));
  parts.push_back(reduced_rights());
  isolate_with(std::move(parts));
}

driver::FingerprintResponse IsolatedDriver::fingerprint() {
  if (::geteuid() != 0) return undetected("Driver must run as root");
  const bool has_cgroups = layout_.mode != CgroupLayout::Mode::none;
  if (has_cgroups && has_mount_calls()) return ProcessDriver::fingerprint();
  driver::FingerprintResponse print;
  print.set_health(driver::FingerprintResponse::UNHEALTHY);
  print.set_health_description(has_cgroups ? "this kernel lacks mount_setattr; Linux 5.12 has it"
                                           : "Cgroup mount point unavailable");
  return print;
}

hclspec::Spec IsolatedDriver::task_config_schema() const {
  return hclspec::object_of({{.name = "pid_mode", .type = "string"},
                             {.name = "ipc_mode", .type = "string"},
                             {.name = "cap_add", .type = "list(string)"},
                             {.name = "cap_drop", .type = "list(string)"},
                             {.name = "cpu_hard_limit", .type = "bool"},
                             {.name = "pids_limit", .type = "number"}});
}

Result<ProcessDriver::Command> IsolatedDriver::command(const driver::TaskConfig& task, TaskOptions& options) {
  const auto wishes = read_wishes(options);
  if (!wishes) return wishes.status().with_context(kDecode);
  auto wanted = program(task, options);
  DROVER_RETURN_IF_ERROR(options.finish().with_context(kDecode));
  if (!wanted) return wanted;
  DROVER_RETURN_IF_ERROR(own_namespaces_of(options_, *wishes).status().with_context(kValidate));
  DROVER_RETURN_IF_ERROR(rights_of(options_, *wishes, task.user()).status().with_context(kValidate));
  if (wanted->user.empty()) wanted->user = task.user().empty() ? std::string(kDefaultUser) : task.user();
  return wanted;
}

Result<IsolationNeeds> IsolatedDriver::isolation_needs(const driver::TaskConfig& task) {
  DROVER_TRY(TaskOptions raw, TaskOptions::from_msgpack(task.msgpack_driver_config()));
  DROVER_TRY(const TaskWishes wishes, read_wishes(raw));
  IsolationNeeds needs;
  DROVER_TRY(needs.limits, task_limits(options_, wishes, task, processors()));
  DROVER_TRY(needs.own_namespaces, own_namespaces_of(options_, wishes));
  DROVER_TRY(needs.rights, rights_of(options_, wishes, task.user()));
  return needs;
}

std::string_view IsolatedDriver::launch_context() const { return kLaunch; }

}  // namespace drover
