#include "mock_options.h"

#include <charconv>

#include "nomad/plugins/hclspec.pb.h"

namespace drover::mock {
namespace {

Output read_output(TaskOptions& options, const std::string& stream) {
  Output output;
  output.text = options.text(stream + "_string");
  output.repeat = options.integer(stream + "_repeat");
  output.repeat_duration = options.duration(stream + "_repeat_duration");
  return output;
}

Status not_negative(std::string_view option, int64_t value);

Result<MockCommand> read_command(TaskOptions options) {
  MockCommand command;
  command.run_for = options.duration("run_for");
  command.exit_code = options.integer("exit_code");
  command.exit_signal = options.integer("exit_signal");
  command.exit_err_msg = options.text("exit_err_msg");
  command.stdout_output = read_output(options, "stdout");
  command.stderr_output = read_output(options, "stderr");
  DROVER_RETURN_IF_ERROR(options.finish());
  DROVER_RETURN_IF_ERROR(not_negative("run_for", command.run_for.count()));
  DROVER_RETURN_IF_ERROR(not_negative("stdout_repeat", command.stdout_output.repeat));
  DROVER_RETURN_IF_ERROR(not_negative("stderr_repeat", command.stderr_output.repeat));
  return command;
}

Status not_negative(std::string_view option, int64_t value) {
  if (value >= 0) return ok_status();
  return invalid_argument("config option \"" + std::string(option) + "\" must not be negative");
}

}  // namespace

hclspec::Spec options_schema() {
  hclspec::Spec schema = hclspec::object_of({{"run_for", "string"},
                                             {"exit_code", "number"},
                                             {"exit_signal", "number"},
                                             {"exit_err_msg", "string"},
                                             {"signal_error", "string"},
                                             {"start_error", "string"},
                                             {"start_error_recoverable", "bool"},
                                             {"start_block_for", "string"},
                                             {"kill_after", "string"},
                                             {"ignore_kill", "bool"},
                                             {"lose_handle", "bool"},
                                             {"block_stats", "bool"},
                                             {"driver_ip", "string"},
                                             {"driver_advertise", "bool"},
                                             {"driver_port_map", "string"},
                                             {"show_given", "bool"},
                                             {"stdout_string", "string"},
                                             {"stdout_repeat", "number"},
                                             {"stdout_repeat_duration", "string"},
                                             {"stderr_string", "string"},
                                             {"stderr_repeat", "number"},
                                             {"stderr_repeat_duration", "string"},
                                             {"events", "list(string)"}});
  auto& exec = *(*schema.mutable_object()->mutable_attributes())["exec_command"].mutable_block_value();
  exec.set_name("exec_command");
  *exec.mutable_nested() = hclspec::object_of({{"run_for", "string"},
                                               {"exit_code", "number"},
                                               {"exit_signal", "number"},
                                               {"exit_err_msg", "string"},
                                               {"stdout_string", "string"},
                                               {"stdout_repeat", "number"},
                                               {"stdout_repeat_duration", "string"},
                                               {"stderr_string", "string"},
                                               {"stderr_repeat", "number"},
                                               {"stderr_repeat_duration", "string"}});
  return schema;
}

Result<MockOptions> read_options(TaskOptions options) {
  MockOptions mock;
  mock.run_for = options.duration("run_for");
  mock.exit_code = options.integer("exit_code");
  mock.exit_signal = options.integer("exit_signal");
  mock.exit_err_msg = options.text("exit_err_msg");
  mock.signal_error = options.text("signal_error");
  mock.start_error = options.text("start_error");
  mock.start_error_recoverable = options.boolean("start_error_recoverable");
  mock.start_block_for = options.duration("start_block_for");
  mock.kill_after = options.duration("kill_after");
  mock.ignore_kill = options.boolean("ignore_kill");
  mock.lose_handle = options.boolean("lose_handle");
  mock.block_stats = options.boolean("block_stats");
  mock.driver_ip = options.text("driver_ip");
  mock.driver_advertise = options.boolean("driver_advertise");
  const std::string port_map = options.text("driver_port_map");
  mock.show_given = options.boolean("show_given");
  mock.stdout_output = read_output(options, "stdout");
  mock.stderr_output = read_output(options, "stderr");
  mock.events = options.text_list("events");
  auto exec = options.block("exec_command");
  DROVER_RETURN_IF_ERROR(options.finish());
  if (exec) {
    auto command = read_command(*std::move(exec));
    if (!command) return command.status().with_context("config option \"exec_command\"");
    mock.exec_command = *std::move(command);
  }

  DROVER_RETURN_IF_ERROR(not_negative("run_for", mock.run_for.count()));
  DROVER_RETURN_IF_ERROR(not_negative("start_block_for", mock.start_block_for.count()));
  DROVER_RETURN_IF_ERROR(not_negative("kill_after", mock.kill_after.count()));
  DROVER_RETURN_IF_ERROR(not_negative("stdout_repeat", mock.stdout_output.repeat));
  DROVER_RETURN_IF_ERROR(not_negative("stderr_repeat", mock.stderr_output.repeat));
  if (mock.exit_signal < 0 || mock.exit_signal > 64)
    return invalid_argument("config option \"exit_signal\" must be a signal number from 0 to 64");
  if (mock.exit_code < -1 || mock.exit_code > 255)
    return invalid_argument("config option \"exit_code\" must be from -1 to 255");
  if (!port_map.empty()) {
    const size_t colon = port_map.rfind(':');
    const char* end = port_map.data() + port_map.size();
    std::from_chars_result parsed{end, std::errc::invalid_argument};
    if (colon != std::string::npos) parsed = std::from_chars(port_map.data() + colon + 1, end, mock.port);
    if (colon == 0 || parsed.ec != std::errc() || parsed.ptr != end || mock.port < 0 || mock.port > 65535)
      return invalid_argument("config option \"driver_port_map\" must have the form \"label:port\"");
    mock.port_label = port_map.substr(0, colon);
  }
  return mock;
}

}  // namespace drover::mock
