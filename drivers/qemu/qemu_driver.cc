#include "qemu_driver.h"

#include "command_line.h"
#include "drover/hclspec.h"
#include "drover/log.h"
#include "drover/program.h"
#include "image.h"
#include "monitor.h"
#include "nomad/plugins/base.pb.h"
#include "nomad/plugins/driver.pb.h"
#include "nomad/plugins/hclspec.pb.h"

namespace drover::qemu {
namespace {

using namespace std::chrono_literals;

constexpr const char* kQemu = "qemu-system-x86_64";
constexpr auto kVersionLimit = 10s;

Result<std::string> ask_version() {
  DROVER_TRY(const std::string qemu, find_machine_program(kQemu));
  DROVER_TRY(const std::string said,
             ask_program({.program = qemu, .arguments = {"--version"}, .time = kVersionLimit}));
  std::optional<std::string> version = parse_version(said);
  if (!version) return unavailable("Failed to parse qemu version from " + said);
  return *std::move(version);
}

Result<QemuTask> task_of(const driver::TaskConfig& config) {
  DROVER_TRY(TaskOptions raw, TaskOptions::from_msgpack(config.msgpack_driver_config()));
  return read_task(raw);
}

}  // namespace

hclspec::Spec QemuDriver::config_schema() const {
  return hclspec::object_of(
      {{.name = "image_paths",
        .type = "list(string)",
        .help = "Absolute paths of folders; images of jobs lie below one of them or in the allocation's folder."},
       {.name = "args_allowlist",
        .type = "list(string)",
        .help = "Options of qemu that jobs may give in `args`, each as it is written there. Unless said: every one."},
       launcher_option()});
}

Status QemuDriver::configure(const hashicorp::nomad::plugins::base::proto::SetConfigRequest& request) {
  DROVER_TRY(TaskOptions raw, TaskOptions::from_msgpack(request.msgpack_config()));
  DROVER_TRY(Options wanted, read_options(raw));
  return configure_once(request, [&] { open(std::move(wanted)); });
}

void QemuDriver::open(Options options) {
  options_ = std::move(options);
  if (!options_.launcher.folder.empty()) set_launcher(options_.launcher);
  std::vector<std::unique_ptr<IsolationPart>> parts;
  parts.push_back(network_namespace());
  parts.push_back(control_groups(detect_cgroups(), options_.cgroup_parent));
  isolate_with(std::move(parts));
}

driver::FingerprintResponse QemuDriver::fingerprint() {
  const auto version = ask_version();
  if (!version) return undetected(version.status().message());
  driver::FingerprintResponse print = ProcessDriver::fingerprint();
  (*print.mutable_attributes())["driver.qemu.version"].set_string_val(*version);
  return print;
}

driver::DriverCapabilities QemuDriver::capabilities() const {
  driver::DriverCapabilities capabilities = ProcessDriver::capabilities();
  capabilities.set_send_signals(false);
  capabilities.set_exec(false);
  capabilities.set_fs_isolation(driver::DriverCapabilities::IMAGE);
  return capabilities;
}

hclspec::Spec QemuDriver::task_config_schema() const {
  hclspec::Spec schema = hclspec::object_of({{.name = "image_path", .type = "string", .is_required = true},
                                             {.name = "drive_interface", .type = "string"},
                                             {.name = "accelerator", .type = "string"},
                                             {.name = "graceful_shutdown", .type = "bool"},
                                             {.name = "guest_agent", .type = "bool"},
                                             {.name = "args", .type = "list(string)"}});
  auto& ports = *(*schema.mutable_object()->mutable_attributes())["port_map"].mutable_block_attrs();
  ports.set_name("port_map");
  ports.set_type("number");
  return schema;
}

Result<std::string> QemuDriver::encode_config(std::string_view config_json) {
  DROVER_TRY(TaskOptions raw, TaskOptions::from_json(config_json));
  DROVER_TRY(const QemuTask task, read_task(raw));
  DROVER_RETURN_IF_ERROR(check_arguments(task.arguments, options_.args_allowlist));
  return TaskOptions::to_msgpack(config_json);
}

Result<ProcessDriver::Command> QemuDriver::command(const driver::TaskConfig& config, TaskOptions& options) {
  DROVER_TRY(const QemuTask task, read_task(options));
  DROVER_RETURN_IF_ERROR(check_arguments(task.arguments, options_.args_allowlist));
  DROVER_TRY(const std::string image,
             find_image(task.image_path, task_folder(config), config.alloc_dir(), options_.image_paths));
  Command command;
  DROVER_TRY(command.arguments, arguments_of(task, config, image));
  DROVER_TRY(command.program, find_machine_program(kQemu));
  return command;
}

Result<driver::StartTaskResponse> QemuDriver::start_task(const driver::TaskConfig& config) {
  DROVER_TRY(const QemuTask task, task_of(config));
  DROVER_TRY(driver::StartTaskResponse response, ProcessDriver::start_task(config));
  if (task.port_map.size() != 1) return response;
  for (const auto& [label, port] : task.port_map)
    (*response.mutable_network_override()->mutable_port_map())[label] = static_cast<int32_t>(port);
  return response;
}

bool QemuDriver::ask_to_end(const driver::TaskConfig& config) {
  const auto task = task_of(config);
  if (!task || !task->has_graceful_shutdown) return false;
  const Status pressed = press_power_button(task_folder(config));
  if (!pressed.ok())
    log::warn("qemu", "a machine could not be asked to power down",
              {{"task", config.id()}, {"error", pressed.message()}});
  return pressed.ok();
}

Status QemuDriver::signal_task(std::string_view, std::string_view) {
  return unimplemented("Qemu driver can't signal commands");
}

Status QemuDriver::exec_task_streaming(const ExecCommand&, ExecStream&) {
  return unimplemented("Qemu driver can't execute commands");
}

}  // namespace drover::qemu
