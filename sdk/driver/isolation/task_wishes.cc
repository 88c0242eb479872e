#include "task_wishes.h"

#include "nomad/plugins/driver.pb.h"

namespace drover {
namespace {

using Sharing = IsolationOptions::Sharing;

constexpr std::string_view kPrivate = "private", kHost = "host";

Status check_mode(std::string_view option, const std::string& mode) {
  if (mode.empty() || mode == kPrivate || mode == kHost) return ok_status();
  return invalid_argument(std::string(option) + " must be \"private\" or \"host\", got \"" + mode + "\"");
}

Sharing sharing_of(const std::string& mode, Sharing otherwise) {
  if (mode.empty()) return otherwise;
  return mode == kHost ? Sharing::with_machine : Sharing::apart;
}

Result<Sharing> read_mode(TaskOptions& raw, std::string_view option) {
  const std::string mode = raw.text(option, std::string(kPrivate));
  if (mode.empty()) return invalid_argument(std::string(option) + " must be \"private\" or \"host\", got \"\"");
  DROVER_RETURN_IF_ERROR(check_mode(option, mode));
  return sharing_of(mode, Sharing::apart);
}

Result<uint64_t> read_count(TaskOptions& raw, std::string_view option) {
  const int64_t count = raw.integer(option);
  if (count < 0) return invalid_argument("config option \"" + std::string(option) + "\" must not be negative");
  return static_cast<uint64_t>(count);
}

bool is_root(const std::string& user) { return user == "root" || user == "0"; }

}  // namespace

Result<IsolationOptions> read_isolation_options(TaskOptions& raw) {
  IsolationOptions options;
  DROVER_TRY(options.pid_mode, read_mode(raw, "default_pid_mode"));
  DROVER_TRY(options.ipc_mode, read_mode(raw, "default_ipc_mode"));
  // An empty list allows nothing; one that is not there, or null, what operators mostly allow.
  if (raw.has("allow_caps")) {
    DROVER_TRY(options.allowed_capabilities, capabilities_of(raw.text_list("allow_caps"), "allow_caps"));
  }
  options.no_new_privileges = raw.boolean("no_new_privs", true);
  options.are_calls_filtered = raw.boolean("seccomp", true);
  DROVER_TRY(options.pids_limit, read_count(raw, "pids_limit"));
  DROVER_TRY(options.launcher, read_launcher_option(raw));
  return options;
}

Result<TaskWishes> read_wishes(TaskOptions& raw) {
  TaskWishes wishes{.pid_mode = raw.text("pid_mode"),
                    .ipc_mode = raw.text("ipc_mode"),
                    .capabilities = {.add = raw.text_list("cap_add"), .drop = raw.text_list("cap_drop")},
                    .has_hard_cpu_limit = raw.boolean("cpu_hard_limit")};
  DROVER_TRY(wishes.pids_limit, read_count(raw, "pids_limit"));
  DROVER_RETURN_IF_ERROR(check_mode("pid_mode", wishes.pid_mode));
  DROVER_RETURN_IF_ERROR(check_mode("ipc_mode", wishes.ipc_mode));
  return wishes;
}

Result<uint32_t> own_namespaces_of(const IsolationOptions& options, const TaskWishes& wishes) {
  uint32_t own = Confinement::hostname | Confinement::cgroups;
  if (sharing_of(wishes.pid_mode, options.pid_mode) == Sharing::apart) own |= Confinement::processes;
  if (sharing_of(wishes.ipc_mode, options.ipc_mode) == Sharing::apart) own |= Confinement::ipc;
  return own;
}

Result<Rights> rights_of(const IsolationOptions& options, const TaskWishes& wishes, const std::string& user) {
  Rights rights{.capabilities = 0,
                .no_new_privileges = options.no_new_privileges,
                .are_calls_filtered = options.are_calls_filtered};
  DROVER_TRY(rights.capabilities, decide_capabilities(default_capabilities(is_root(user)), options.allowed_capabilities,
                                                      wishes.capabilities));
  return rights;
}

Result<CgroupLimits> task_limits(const IsolationOptions& options, const TaskWishes& wishes,
                                 const driver::TaskConfig& task, uint32_t processors) {
  DROVER_TRY(CgroupLimits limits, limits_of(task));
  const double share = task.resources().linux_resources().percentticks();
  if (wishes.has_hard_cpu_limit && share <= 0)
    return invalid_argument("cpu_hard_limit needs the speed of this machine's processors, which is not known");
  if (wishes.has_hard_cpu_limit) {
    CgroupLimits::Quota quota;
    quota.time_us = static_cast<uint64_t>(share * static_cast<double>(quota.period_us)) * processors;
    limits.cpu_quota = quota;
  }
  if (options.pids_limit != 0 && wishes.pids_limit > options.pids_limit)
    return invalid_argument("pids_limit cannot be greater than nomad plugin config pids_limit: " +
                            std::to_string(options.pids_limit));
  const uint64_t pids = wishes.pids_limit != 0 ? wishes.pids_limit : options.pids_limit;
  if (pids != 0) limits.pids = pids;
  DROVER_TRY(limits.devices, devices_of(task));
  return limits;
}

}  // namespace drover
