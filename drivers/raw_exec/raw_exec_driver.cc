#include "raw_exec_driver.h"

#include "drover/hclspec.h"
#include "drover/plugin.h"
#include "nomad/plugins/base.pb.h"
#include "nomad/plugins/driver.pb.h"
#include "nomad/plugins/hclspec.pb.h"

namespace drover::raw_exec {

hclspec::Spec RawExecDriver::config_schema() const {
  return hclspec::object_of(
      {{.name = "enabled",
        .type = "bool",
        .help = "Let jobs run programs without isolation. Off unless the agent runs in development mode."},
       {.name = "no_cgroups",
        .type = "bool",
        .default_literal = "false",
        .help =
            "Leave tasks in the launcher's control groups; processes that a task abandons are then not found when it "
            "is stopped."},
       launcher_option()});
}

void RawExecDriver::set_agent(const AgentInfo& agent) {
  ProcessDriver::set_agent(agent);
  is_enabled_by_default_ = agent.dev_mode;
}

Status RawExecDriver::configure(const hashicorp::nomad::plugins::base::proto::SetConfigRequest& request) {
  DROVER_TRY(TaskOptions raw, TaskOptions::from_msgpack(request.msgpack_config()));
  Options wanted;
  wanted.is_enabled = raw.boolean("enabled", is_enabled_by_default_);
  wanted.uses_cgroups = !raw.boolean("no_cgroups");
  DROVER_TRY(wanted.launcher, read_launcher_option(raw));
  DROVER_RETURN_IF_ERROR(raw.finish());
  return configure_once(request, [&] { open(std::move(wanted)); });
}

void RawExecDriver::open(Options options) {
  options_ = std::move(options);
  if (options_.uses_cgroups) layout_ = detect_cgroups();
  if (!options_.launcher.folder.empty()) set_launcher(options_.launcher);
  std::vector<std::unique_ptr<IsolationPart>> parts;
  parts.push_back(network_namespace());
  parts.push_back(control_groups(layout_, options_.cgroup_parent));
  isolate_with(std::move(parts));
}

driver::FingerprintResponse RawExecDriver::fingerprint() {
  if (!options_.is_enabled) return undetected("disabled");
  driver::FingerprintResponse print = ProcessDriver::fingerprint();
  (*print.mutable_attributes())["driver.raw_exec.cgroups"].set_string_val(std::string(to_string(layout_.mode)));
  return print;
}

hclspec::Spec RawExecDriver::task_config_schema() const {
  return hclspec::object_of(
      {{.name = "command", .type = "string", .is_required = true}, {.name = "args", .type = "list(string)"}});
}

Result<ProcessDriver::Command> RawExecDriver::command(const driver::TaskConfig&, TaskOptions& options) {
  Command command{.program = options.text("command"), .arguments = options.text_list("args")};
  DROVER_RETURN_IF_ERROR(options.finish());
  if (command.program.empty()) return invalid_argument("config option \"command\" is missing");
  return command;
}

Result<driver::StartTaskResponse> RawExecDriver::start_task(const driver::TaskConfig& config) {
  if (options_.is_enabled) return ProcessDriver::start_task(config);
  return permission_denied(
      "raw_exec is disabled on this node; plugin \"raw_exec\" { config { enabled = true } } enables it");
}

}  // namespace drover::raw_exec
