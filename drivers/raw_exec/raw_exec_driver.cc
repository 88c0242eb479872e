#include "raw_exec_driver.h"

#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <nlohmann/json.hpp>

#include "command.h"
#include "drover/hclspec.h"
#include "drover/log.h"
#include "drover/process.h"
#include "drover/signals.h"
#include "nomad/plugins/base.pb.h"
#include "nomad/plugins/hclspec.pb.h"
#include "usage.h"

namespace drover::raw_exec {
namespace {

using namespace std::chrono_literals;
using Json = nlohmann::json;

constexpr int32_t kHandleVersion = 1;
constexpr int kStateVersion = 1;
constexpr std::string_view kDefaultSignal = "SIGINT";
constexpr auto kLauncherLimit = 10s;
constexpr auto kKillLimit = 10s;
constexpr auto kSettleLimit = 20s;  // above what the supervisor gives a task to die
constexpr std::chrono::nanoseconds kLongestTimeout = std::chrono::hours(24 * 365);

SteadyTime after(std::chrono::nanoseconds wait) { return SystemClock().steady() + wait; }

std::string task_folder(const driver::TaskConfig& config) {
  return config.alloc_dir().empty() ? std::string("/") : config.alloc_dir() + "/" + config.name();
}

struct DriverState {
  int pid = 0;
  uint64_t start_time = 0;
  int64_t started_at = 0;
  std::string cgroup;  // relative to the trees' roots; empty: none
};

std::string write_state(const DriverState& state, const std::string& launcher_folder) {
  return Json{{"version", kStateVersion},       {"pid", state.pid},       {"start_time", state.start_time},
              {"started_at", state.started_at}, {"cgroup", state.cgroup}, {"launcher", launcher_folder}}
      .dump();
}

std::optional<DriverState> read_state(const std::string& bytes) {
  const Json json = Json::parse(bytes, nullptr, false);
  auto is_number = [&](const char* name) { return json.contains(name) && json[name].is_number_integer(); };
  if (!json.is_object() || !is_number("version") || json["version"] != kStateVersion || !is_number("pid") ||
      !is_number("start_time") || !is_number("started_at") || !json.contains("cgroup") || !json["cgroup"].is_string())
    return std::nullopt;
  DriverState state;
  state.pid = json["pid"].get<int>();
  state.start_time = json["start_time"].get<uint64_t>();
  state.started_at = json["started_at"].get<int64_t>();
  state.cgroup = json["cgroup"].get<std::string>();
  // What ".." would reach is not ours to kill.
  if (state.pid <= 1 || state.cgroup.find("..") != std::string::npos) return std::nullopt;
  return state;
}

}  // namespace

RawExecDriver::~RawExecDriver() { stop(); }

void RawExecDriver::open(DriverOptions options) {
  options_ = std::move(options);
  if (options_.uses_cgroups) layout_ = detect_cgroups();
  supervisor_ = std::make_unique<Supervisor>(store_, [this]() -> Result<std::vector<Launcher::Task>> {
    DROVER_TRY(std::shared_ptr<Launcher> connected, launcher());
    return connected->list(after(kLauncherLimit));
  });
}

hclspec::Spec RawExecDriver::config_schema() const {
  return hclspec::object_of(
      {{.name = "enabled", .type = "bool", .default_literal = "false"},
       {.name = "no_cgroups", .type = "bool", .default_literal = "false"},
       {.name = "launcher_dir", .type = "string", .default_literal = "\"/run/drover-raw_exec\""}});
}

Status RawExecDriver::configure(const hashicorp::nomad::plugins::base::proto::SetConfigRequest& request) {
  DROVER_TRY(TaskOptions raw, TaskOptions::from_msgpack(request.msgpack_config()));
  DriverOptions wanted;
  wanted.is_enabled = raw.boolean("enabled");
  wanted.uses_cgroups = !raw.boolean("no_cgroups");
  wanted.launcher.folder = raw.text("launcher_dir");
  DROVER_RETURN_IF_ERROR(raw.finish());
  if (!wanted.launcher.folder.starts_with('/'))
    return invalid_argument("config option \"launcher_dir\" must be an absolute path");
  if (!supervisor_) {
    open(std::move(wanted));
  } else if (wanted.is_enabled != options_.is_enabled || wanted.uses_cgroups != options_.uses_cgroups ||
             wanted.launcher.folder != options_.launcher.folder) {
    return failed_precondition("raw_exec is configured already; another configuration needs a new process");
  }
  return ok_status();
}

hclspec::Spec RawExecDriver::task_config_schema() const {
  return hclspec::object_of(
      {{.name = "command", .type = "string", .is_required = true}, {.name = "args", .type = "list(string)"}});
}

void RawExecDriver::stop() {
  std::shared_ptr<Launcher> last;
  {
    std::lock_guard lock(connecting_);
    is_stopped_ = true;
    last = std::move(launcher_);
  }
  execs_.end();
  last.reset();  // joins its thread, which calls the supervisor
  if (supervisor_) supervisor_->stop();
  for (const std::shared_ptr<Task>& task : store_.all()) task->abandon();
}

Result<std::shared_ptr<Launcher>> RawExecDriver::launcher() {
  std::lock_guard lock(connecting_);  // held while connecting: callers that come together shall share the connection
  if (is_stopped_) return unavailable("the driver is stopping");
  if (launcher_ && launcher_->is_connected()) return launcher_;
  launcher_.reset();
  Launcher::Callbacks callbacks;
  callbacks.exited = [this](const Launcher::Task& task) {
    if (task.exit) supervisor_->exited(task.id, *task.exit);
  };
  callbacks.lost = [this] { supervisor_->launcher_lost(); };
  DROVER_TRY(std::unique_ptr<Launcher> made,
             Launcher::connect(options_.launcher, std::move(callbacks), after(kLauncherLimit)));
  launcher_ = std::move(made);
  return launcher_;
}

Result<std::shared_ptr<Task>> RawExecDriver::find(std::string_view id) const {
  std::shared_ptr<Task> task = store_.find(id);
  if (!task || task->state() == Task::State::starting) return not_found(std::string(kTaskNotFound));
  return task;
}

driver::DriverCapabilities RawExecDriver::capabilities() const {
  driver::DriverCapabilities capabilities;
  capabilities.set_send_signals(true);
  capabilities.set_exec(true);
  capabilities.set_fs_isolation(driver::DriverCapabilities::NONE);
  capabilities.add_network_isolation_modes(driver::NetworkIsolationSpec::HOST);
  capabilities.add_network_isolation_modes(driver::NetworkIsolationSpec::GROUP);
  return capabilities;
}

driver::FingerprintResponse RawExecDriver::fingerprint() {
  driver::FingerprintResponse response;
  if (!options_.is_enabled) {
    response.set_health(driver::FingerprintResponse::UNDETECTED);
    response.set_health_description("disabled");
    return response;
  }
  (*response.mutable_attributes())["driver.raw_exec"].set_string_val("1");
  (*response.mutable_attributes())["driver.raw_exec.cgroups"].set_string_val(std::string(to_string(layout_.mode)));
  response.set_health(driver::FingerprintResponse::HEALTHY);
  response.set_health_description("Healthy");
  return response;
}

Result<std::string> RawExecDriver::encode_config(std::string_view config_json) {
  DROVER_TRY(TaskOptions options, TaskOptions::from_json(config_json));
  DROVER_RETURN_IF_ERROR(read_command(std::move(options)).status());
  return TaskOptions::to_msgpack(config_json);
}

// What the task's program and what runs beside it have in common.
Result<Launcher::Start> RawExecDriver::surroundings_of(const Task& task, const Command& command) const {
  const driver::TaskConfig& config = task.config();
  std::map<std::string, std::string> environment(config.env().begin(), config.env().end());
  for (const auto& [name, value] : config.device_env()) environment[name] = value;
  if (task.cgroup()) environment["NOMAD_PARENT_CGROUP"] = options_.cgroup_parent;

  auto holds_zero = [](const std::string& text) { return text.find('\0') != std::string::npos; };
  if (holds_zero(command.program) || std::ranges::any_of(command.arguments, holds_zero))
    return invalid_argument("config options \"command\" and \"args\" must not hold a zero byte");

  Launcher::Start start;
  start.id = config.id();
  DROVER_TRY(start.program, find_program(command.program, task_folder(config), environment["PATH"]));
  if (environment["PATH"].empty()) environment.erase("PATH");
  start.arguments.push_back(command.program);
  start.arguments.insert(start.arguments.end(), command.arguments.begin(), command.arguments.end());
  for (const auto& [name, value] : environment) start.environment.push_back(name + "=" + value);
  start.directory = task_folder(config);
  if (!config.user().empty()) {
    DROVER_TRY(start.user, find_user(config.user()));
  }
  start.network_namespace = config.network_isolation_spec().path();
  return start;
}

Result<Process> RawExecDriver::launch(const driver::TaskConfig& config, const Task& task) {
  DROVER_TRY(TaskOptions options, TaskOptions::from_msgpack(config.msgpack_driver_config()));
  DROVER_TRY(Command command, read_command(std::move(options)));
  DROVER_TRY(Launcher::Start start, surroundings_of(task, command));
  start.stdout_path = config.stdout_path();
  start.stderr_path = config.stderr_path();
  DROVER_TRY(std::shared_ptr<Launcher> connected, launcher());
  if (task.cgroup()) {
    DROVER_RETURN_IF_ERROR(task.cgroup()->create());
    start.cgroup_files = task.cgroup()->join_files();
  }
  Result<Launcher::Task> started = connected->start(start, after(kLauncherLimit));
  if (!started.ok()) {
    if (task.cgroup()) {
      // A launcher that answers too late may have started it after all.
      (void)task.cgroup()->kill(after(kKillLimit));
      (void)task.cgroup()->remove();
    }
    const Code code = started.status().code();
    // The next attempt finds another launcher.
    if (code == Code::unavailable || code == Code::deadline_exceeded)
      return failed_precondition(started.status().message());
    return started.status();
  }
  return Process{.pid = started->pid, .start_time = started->start_time, .started_at = started->started_at};
}

Result<driver::StartTaskResponse> RawExecDriver::start_task(const driver::TaskConfig& config) {
  if (!options_.is_enabled)
    return permission_denied(
        "raw_exec is disabled on this node; plugin \"raw_exec\" { config { enabled = true } } enables it");
  if (config.id().empty() || config.name().empty()) return invalid_argument("a task needs an id and a name");
  std::optional<Cgroup> cgroup;
  if (layout_.mode != CgroupLayout::Mode::none)
    cgroup.emplace(layout_, options_.cgroup_parent + "/" + cgroup_name(config.id()));
  auto task = std::make_shared<Task>(config, std::move(cgroup));
  DROVER_RETURN_IF_ERROR(store_.insert(task));
  Result<Process> process = launch(config, *task);
  if (!process.ok()) {
    store_.erase(*task);
    return process.status();
  }
  if (std::optional<Launcher::Exit> exit = task->set_running(*process)) supervisor_->exited(task->id(), *exit);

  driver::StartTaskResponse response;
  driver::TaskHandle& handle = *response.mutable_handle();
  handle.set_version(kHandleVersion);
  *handle.mutable_config() = config;
  handle.set_state(driver::RUNNING);
  handle.set_driver_state(write_state({.pid = process->pid,
                                       .start_time = process->start_time,
                                       .started_at = process->started_at,
                                       .cgroup = task->cgroup() ? task->cgroup()->path() : std::string()},
                                      options_.launcher.folder));
  return response;
}

Status RawExecDriver::recover_task(const driver::TaskHandle& handle) {
  const driver::TaskConfig& config = handle.config();
  if (store_.find(config.id())) return ok_status();
  if (handle.version() != kHandleVersion)
    return invalid_argument("handle of task " + config.id() + " has version " + std::to_string(handle.version()) +
                            ", this driver reads version " + std::to_string(kHandleVersion));
  const std::optional<DriverState> state = read_state(handle.driver_state());
  if (!state) return invalid_argument("handle of task " + config.id() + " has a driver state that cannot be read");
  if (!supervisor_) return unavailable("raw_exec is not configured yet");

  std::optional<Cgroup> cgroup;
  if (!state->cgroup.empty()) {
    // The setting may have changed since; the task has not.
    cgroup.emplace(layout_.mode == CgroupLayout::Mode::none ? detect_cgroups() : layout_, state->cgroup);
  }
  auto task = std::make_shared<Task>(config, std::move(cgroup));
  if (!store_.insert(task).ok()) return ok_status();  // another caller was faster
  const Process process{.pid = state->pid, .start_time = state->start_time, .started_at = state->started_at};

  // Known before it is asked for, so that an exit between the answer and the next line is not missed.
  Result<std::shared_ptr<Launcher>> connected = launcher();
  Result<std::vector<Launcher::Task>> known = connected.ok() ? (*connected)->list(after(kLauncherLimit))
                                                             : Result<std::vector<Launcher::Task>>(connected.status());
  if (!known.ok() && known.status().code() != Code::unavailable) {
    store_.erase(*task);
    return known.status().with_context("recover task " + config.id());
  }
  if (known.ok()) {
    for (const Launcher::Task& one : *known) {
      if (one.id != config.id()) continue;
      std::optional<Launcher::Exit> exit = task->set_running(process);
      if (one.exit) exit = one.exit;
      if (exit) supervisor_->exited(task->id(), *exit);
      return ok_status();
    }
  }
  // The launcher that started it is no more.
  if (const int fd = open_process(process.pid, process.start_time); fd >= 0) {
    ::close(fd);
    (void)task->set_running(process);
    supervisor_->watch(task);
    return ok_status();
  }
  if (task->cgroup()) {
    (void)task->cgroup()->kill(after(kKillLimit));
    (void)task->cgroup()->remove();
  }
  store_.erase(*task);
  return not_found(std::string(kTaskNotFound));
}

Result<driver::ExitResult> RawExecDriver::wait_task(std::string_view id, std::stop_token stop) {
  DROVER_TRY(std::shared_ptr<Task> task, find(id));
  return task->wait(stop);
}

// Returns when all of it is gone.
Status RawExecDriver::kill(Task& task) {
  if (task.state() == Task::State::exited) return ok_status();
  const Process process = task.process();
  if (task.cgroup() && !task.cgroup()->is_empty()) {
    DROVER_RETURN_IF_ERROR(task.cgroup()->kill(after(kKillLimit)));
  } else if (!kill_tree(process.pid, process.start_time,
                        static_cast<int>(std::chrono::milliseconds(kKillLimit).count()))) {
    return deadline_exceeded("processes of task " + task.id() + " could not be killed in time");
  }
  if (task.wait_until(after(kSettleLimit))) return ok_status();
  return deadline_exceeded("task " + task.id() + " was killed, but its end was not noticed in time");
}

Status RawExecDriver::stop_task(std::string_view id, std::chrono::nanoseconds timeout, std::string_view signal) {
  DROVER_TRY(std::shared_ptr<Task> task, find(id));
  DROVER_TRY(int number, parse_signal(signal.empty() ? kDefaultSignal : signal));
  if (task->state() == Task::State::exited) return ok_status();
  const Process process = task->process();
  signal_process(process.pid, process.start_time, number);
  if (task->wait_until(after(std::clamp(timeout, std::chrono::nanoseconds(0), kLongestTimeout)))) return ok_status();
  return kill(*task);
}

Status RawExecDriver::destroy_task(std::string_view id, bool force) {
  DROVER_TRY(std::shared_ptr<Task> task, find(id));
  if (task->state() != Task::State::exited) {
    if (!force)
      return failed_precondition("task " + std::string(id) + " is running; stop it first, or destroy it with force");
    DROVER_RETURN_IF_ERROR(kill(*task));
  }
  // A launcher that cannot be reached has nothing left to forget.
  if (Result<std::shared_ptr<Launcher>> connected = launcher(); connected.ok()) {
    if (Status forgotten = (*connected)->forget(id, after(kLauncherLimit)); !forgotten.ok())
      log::debug("raw_exec", "launcher did not forget a task", {{"task", id}, {"error", forgotten.message()}});
  }
  store_.erase(*task);
  return ok_status();
}

Result<driver::InspectTaskResponse> RawExecDriver::inspect_task(std::string_view id) {
  DROVER_TRY(std::shared_ptr<Task> task, find(id));
  driver::InspectTaskResponse response;
  *response.mutable_task() = task->status();
  (*response.mutable_driver()->mutable_attributes())["pid"] = std::to_string(task->process().pid);
  return response;
}

Result<driver::TaskStats> RawExecDriver::task_stats(std::string_view id) {
  DROVER_TRY(std::shared_ptr<Task> task, find(id));
  if (task->state() == Task::State::exited) return failed_precondition("task " + std::string(id) + " has ended");
  return sample(*task);
}

Status RawExecDriver::signal_task(std::string_view id, std::string_view signal) {
  DROVER_TRY(std::shared_ptr<Task> task, find(id));
  DROVER_TRY(int number, parse_signal(signal.empty() ? kDefaultSignal : signal));
  const Process process = task->process();
  if (task->state() == Task::State::exited || !signal_process(process.pid, process.start_time, number))
    return failed_precondition("task " + std::string(id) + " has ended");
  return ok_status();
}

Status RawExecDriver::exec_task_streaming(const ExecCommand& wanted, ExecStream& stream) {
  DROVER_TRY(std::shared_ptr<Task> task, find(wanted.task_id));
  if (task->state() == Task::State::exited) return failed_precondition("task " + wanted.task_id + " has ended");
  if (wanted.command.empty()) return invalid_argument("no command is named");
  const ExecCalls::Entry entry(execs_);
  if (!entry) return unavailable("the driver is stopping");
  const Command command{.program = wanted.command.front(),
                        .arguments = {wanted.command.begin() + 1, wanted.command.end()}};
  DROVER_TRY(Launcher::Start start, surroundings_of(*task, command));
  if (task->cgroup()) start.cgroup_files = task->cgroup()->join_files();
  DROVER_TRY(std::shared_ptr<Launcher> connected, launcher());
  return run_process_exec(*connected, std::move(start), wanted.tty, stream, task->ended(), execs_.ending());
}

}  // namespace drover::raw_exec
