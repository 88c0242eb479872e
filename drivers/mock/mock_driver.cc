#include "mock_driver.h"

#include <nlohmann/json.hpp>

#include "drover/hclspec.h"
#include "drover/pause.h"
#include "drover/signals.h"
#include "mock_exec.h"
#include "nomad/plugins/hclspec.pb.h"

namespace drover::mock {
namespace {

constexpr int32_t kHandleVersion = 1;
constexpr std::string_view kDefaultSignal = "SIGINT";

// The things that hooks of the node gave the task, a line each.
std::string given_to(const driver::TaskConfig& config) {
  std::string out;
  const std::map<std::string, std::string> variables(config.device_env().begin(), config.device_env().end());
  for (const auto& [name, value] : variables) out += "variable " + name + "=" + value + "\n";
  for (const driver::Device& device : config.devices())
    out += "device " + device.host_path() + " at " + device.task_path() + " " + device.cgroup_permissions() + "\n";
  for (const driver::Mount& mount : config.mounts())
    out += "mount " + mount.host_path() + " at " + mount.task_path() + (mount.readonly() ? " read-only\n" : "\n");
  return out;
}

}  // namespace

MockDriver::~MockDriver() { stop(); }

void MockDriver::stop() {
  stopping_.request_stop();
  std::map<std::string, std::shared_ptr<MockTask>, std::less<>> tasks;
  {
    MutexLock lock(mutex_);
    tasks.swap(tasks_);
  }
  for (auto& [id, task] : tasks) {
    if (task) task->kill();
  }
}

hclspec::Spec MockDriver::task_config_schema() const { return options_schema(); }

driver::DriverCapabilities MockDriver::capabilities() const {
  driver::DriverCapabilities capabilities;
  capabilities.set_send_signals(true);
  capabilities.set_exec(true);
  capabilities.set_fs_isolation(driver::DriverCapabilities::NONE);
  return capabilities;
}

driver::FingerprintResponse MockDriver::fingerprint() {
  driver::FingerprintResponse response;
  (*response.mutable_attributes())["driver.mock_driver"].set_string_val("1");
  response.set_health(driver::FingerprintResponse::HEALTHY);
  response.set_health_description("Healthy");
  return response;
}

Result<std::string> MockDriver::encode_config(std::string_view config_json) {
  DROVER_TRY(TaskOptions options, TaskOptions::from_json(config_json));
  DROVER_RETURN_IF_ERROR(read_options(std::move(options)).status());
  return TaskOptions::to_msgpack(config_json);
}

Result<driver::StartTaskResponse> MockDriver::start_task(const driver::TaskConfig& config) {
  if (config.id().empty()) return invalid_argument("a task needs an id");
  DROVER_TRY(TaskOptions raw, TaskOptions::from_msgpack(config.msgpack_driver_config()));
  DROVER_TRY(MockOptions options, read_options(std::move(raw)));
  {
    MutexLock lock(mutex_);
    if (!tasks_.try_emplace(config.id(), nullptr).second)
      return already_exists("task " + config.id() + " was started before");
  }
  auto give_up = [&](Status status) {
    MutexLock lock(mutex_);
    tasks_.erase(config.id());
    return status;
  };
  if (options.start_block_for.count() > 0) pause_for(options.start_block_for, stopping_.get_token());
  if (stopping_.stop_requested()) return give_up(unavailable("the driver is stopping"));
  if (!options.start_error.empty()) {
    return give_up(
        Status(options.start_error_recoverable ? Code::failed_precondition : Code::unknown, options.start_error));
  }

  driver::StartTaskResponse response;
  if (!options.driver_ip.empty() || !options.port_label.empty()) {
    driver::NetworkOverride& network = *response.mutable_network_override();
    network.set_addr(options.driver_ip);
    network.set_auto_advertise(options.driver_advertise);
    if (!options.port_label.empty()) (*network.mutable_port_map())[options.port_label] = options.port;
  }
  const int64_t started_at = SystemClock().wall_ns();
  driver::TaskHandle& handle = *response.mutable_handle();
  handle.set_version(kHandleVersion);
  *handle.mutable_config() = config;
  handle.set_state(driver::RUNNING);
  handle.set_driver_state(nlohmann::json{{"version", kHandleVersion}, {"started_at", started_at}}.dump());

  if (options.show_given) options.stdout_output.text = given_to(config) + options.stdout_output.text;
  for (const std::string& event : options.events) events_.tell(config, event, {{"driver", "mock_driver"}});
  auto runs_for = options.run_for;
  auto task = std::make_shared<MockTask>(config, std::move(options), runs_for, started_at, true);
  MutexLock lock(mutex_);
  auto at = tasks_.find(config.id());
  if (at == tasks_.end()) return unavailable("the driver is stopping");
  at->second = std::move(task);
  return response;
}

Status MockDriver::recover_task(const driver::TaskHandle& handle) {
  const driver::TaskConfig& config = handle.config();
  {
    MutexLock lock(mutex_);
    if (tasks_.contains(config.id())) return ok_status();
  }
  if (handle.version() != kHandleVersion)
    return invalid_argument("handle of task " + config.id() + " has version " + std::to_string(handle.version()) +
                            ", this driver reads version " + std::to_string(kHandleVersion));
  const nlohmann::json state = nlohmann::json::parse(handle.driver_state(), nullptr, false);
  if (!state.is_object() || !state.contains("started_at") || !state["started_at"].is_number_integer())
    return invalid_argument("handle of task " + config.id() + " has a driver state that cannot be read");
  DROVER_TRY(TaskOptions raw, TaskOptions::from_msgpack(config.msgpack_driver_config()));
  DROVER_TRY(MockOptions options, read_options(std::move(raw)));
  if (options.lose_handle) return not_found(std::string(kTaskNotFound));

  const auto started_at = state["started_at"].get<int64_t>();
  const auto left = options.run_for - std::chrono::nanoseconds(SystemClock().wall_ns() - started_at);
  // The reader of the task's output already has what the task had written before.
  auto task = std::make_shared<MockTask>(config, std::move(options), left, started_at, false);
  MutexLock lock(mutex_);
  if (stopping_.stop_requested()) return unavailable("the driver is stopping");
  tasks_.try_emplace(config.id(), std::move(task));
  return ok_status();
}

Result<std::shared_ptr<MockTask>> MockDriver::find(std::string_view id) {
  MutexLock lock(mutex_);
  auto at = tasks_.find(id);
  if (at == tasks_.end() || !at->second) return not_found(std::string(kTaskNotFound));
  return at->second;
}

Result<driver::ExitResult> MockDriver::wait_task(std::string_view id, std::stop_token stop) {
  DROVER_TRY(std::shared_ptr<MockTask> task, find(id));
  std::optional<driver::ExitResult> result = task->wait(stop);
  if (!result) return cancelled("the wait for task " + std::string(id) + " was cancelled");
  if (!task->options().exit_err_msg.empty()) return Status(Code::unknown, task->options().exit_err_msg);
  return *result;
}

Status MockDriver::stop_task(std::string_view id, std::chrono::nanoseconds timeout, std::string_view signal) {
  DROVER_TRY(std::shared_ptr<MockTask> task, find(id));
  DROVER_TRY(int number, parse_signal(signal.empty() ? kDefaultSignal : signal));
  task->end(timeout, number);
  return ok_status();
}

Status MockDriver::destroy_task(std::string_view id, bool force) {
  DROVER_TRY(std::shared_ptr<MockTask> task, find(id));
  if (task->is_running()) {
    if (!force)
      return failed_precondition("task " + std::string(id) + " is running; stop it first, or destroy it with force");
    task->kill();
  }
  MutexLock lock(mutex_);
  if (auto at = tasks_.find(id); at != tasks_.end() && at->second == task) tasks_.erase(at);
  return ok_status();
}

Result<driver::InspectTaskResponse> MockDriver::inspect_task(std::string_view id) {
  DROVER_TRY(std::shared_ptr<MockTask> task, find(id));
  driver::InspectTaskResponse response;
  *response.mutable_task() = task->status();
  return response;
}

Result<driver::TaskStats> MockDriver::task_stats(std::string_view id) {
  DROVER_TRY(std::shared_ptr<MockTask> task, find(id));
  if (task->options().block_stats) task->wait(stopping_.get_token());
  if (!task->is_running()) return failed_precondition("task " + std::string(id) + " has ended");
  driver::TaskStats stats;
  stats.set_id(std::string(id));
  const int64_t now = SystemClock().wall_ns();
  stats.mutable_timestamp()->set_seconds(now / 1'000'000'000);
  stats.mutable_timestamp()->set_nanos(static_cast<int32_t>(now % 1'000'000'000));
  driver::TaskResourceUsage& usage = *stats.mutable_agg_resource_usage();
  usage.mutable_cpu()->add_measured_fields(driver::CPUUsage::PERCENT);  // a task without a process uses nothing
  usage.mutable_memory()->add_measured_fields(driver::MemoryUsage::RSS);
  return stats;
}

Status MockDriver::signal_task(std::string_view id, std::string_view signal) {
  DROVER_TRY(std::shared_ptr<MockTask> task, find(id));
  DROVER_RETURN_IF_ERROR(parse_signal(signal.empty() ? kDefaultSignal : signal).status());
  if (!task->is_running()) return failed_precondition("task " + std::string(id) + " has ended");
  if (!task->options().signal_error.empty()) return Status(Code::unknown, task->options().signal_error);
  return ok_status();
}

Status MockDriver::exec_task_streaming(const ExecCommand& command, ExecStream& stream) {
  DROVER_TRY(std::shared_ptr<MockTask> task, find(command.task_id));
  if (!task->is_running()) return failed_precondition("task " + command.task_id + " has ended");
  return run_mock_exec(command, task->options().exec_command, stream);
}

}  // namespace drover::mock
