#include "exec_driver.h"

#include "nomad/plugins/hclspec.pb.h"

namespace drover::exec {

hclspec::Spec ExecDriver::config_schema() const {
  return with(IsolatedDriver::config_schema(),
              hclspec::object_of({{.name = "no_pivot_root",
                                   .type = "bool",
                                   .default_literal = "false",
                                   .help = "Move a task's root over the machine's, which then stays beneath: for "
                                           "machines whose root is an initial RAM disk."}}));
}

Result<IsolationOptions> ExecDriver::read_options(TaskOptions& raw) const {
  DROVER_TRY(IsolationOptions options, IsolatedDriver::read_options(raw));
  options.is_pivoted = !raw.boolean("no_pivot_root");
  return options;
}

hclspec::Spec ExecDriver::task_config_schema() const {
  return with(IsolatedDriver::task_config_schema(),
              hclspec::object_of({{.name = "command", .type = "string", .is_required = true},
                                  {.name = "args", .type = "list(string)"}}));
}

Result<ProcessDriver::Command> ExecDriver::program(const driver::TaskConfig&, TaskOptions& options) {
  Command command{.program = options.text("command"), .arguments = options.text_list("args")};
  if (command.program.empty()) return invalid_argument("config option \"command\" is missing");
  return command;
}

}  // namespace drover::exec
