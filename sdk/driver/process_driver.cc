#include "drover/process_driver.h"

#include <unistd.h>

#include <algorithm>
#include <filesystem>

#include "drover/hclspec.h"
#include "drover/log.h"
#include "drover/mutex.h"
#include "drover/plugin.h"
#include "drover/process.h"
#include "drover/process_exec.h"
#include "drover/signals.h"
#include "first_process.h"
#include "nomad/plugins/base.pb.h"
#include "nomad/plugins/driver.pb.h"
#include "process_handle.h"
#include "process_task.h"
#include "task_reaper.h"
#include "task_start.h"
#include "task_usage.h"

namespace drover {

using namespace std::chrono_literals;

namespace {

constexpr int32_t kHandleVersion = 1;
constexpr std::string_view kDefaultSignal = "SIGINT";
constexpr std::string_view kLauncherOption = "launcher_dir";
constexpr auto kLauncherLimit = 10s;
constexpr auto kKillLimit = 10s;
constexpr std::chrono::nanoseconds kAfterAsking =
    1s;                             // between the signal to a task that was asked in vain, and the kill
constexpr auto kSettleLimit = 20s;  // above what the reaper gives a task to die
constexpr std::chrono::nanoseconds kLongestTimeout = std::chrono::hours(24 * 365);

SteadyTime after(std::chrono::nanoseconds wait) { return SystemClock().steady() + wait; }

std::string default_folder(const std::string& name) {
  return ::geteuid() == 0 ? "/run/drover-" + name : "/tmp/drover-" + name + "-" + std::to_string(::geteuid());
}

// Undoes what was made for a task that will not run, and ends processes that a launcher may have started too late.
void undo(const IsolationSet& isolation) {
  if (const Cgroup* group = isolation.cgroup()) (void)group->kill(after(kKillLimit));
  (void)isolation.tear_down();
}

std::string fifo(const std::string& path) { return path == "/dev/null" ? std::string() : path; }

// The next attempt finds another launcher.
Status may_try_again(const Status& status) {
  const bool is_launchers = status.code() == Code::unavailable || status.code() == Code::deadline_exceeded;
  return is_launchers ? failed_precondition(status.message()) : status;
}

Result<Launcher::Task> start_or_find(Launcher& launcher, const Launcher::Start& start) {
  auto started = launcher.start(start, after(kLauncherLimit));
  if (started.status().code() != Code::already_exists) return started;
  // This driver's process ended before it could say so; the caller asks again.
  DROVER_TRY(auto all, launcher.list(after(kLauncherLimit)));
  const auto same = std::ranges::find(all, start.id, &Launcher::Task::id);
  return same == all.end() ? started : *std::move(same);
}

}  // namespace

// The driver's state: its tasks, their reaper, the connection to the launcher.
struct ProcessDriver::Tasks {
  explicit Tasks(std::string name) : driver(std::move(name)) {}

  // constant once a task was started
  const std::string driver;
  Launcher::Options launcher_options;
  bool is_of_agent = false;  // its launcher may be the agent's
  IsolationParts parts;

  TaskStore store;
  ExecCalls execs;

  Result<std::shared_ptr<Launcher>> launcher();
  Result<std::vector<Launcher::Task>> list();
  TaskReaper& reaper();
  // Errors: not_found, also of a task that is being started.
  Result<std::shared_ptr<ProcessTask>> find(std::string_view id) const;
  // Returns when all of it is gone.
  static Status kill(const ProcessTask& task);
  void stop();
  // The task's folder is its root: programs and users are looked for in there.
  bool is_rooted() const;

 private:
  Mutex connecting_;
  std::shared_ptr<Launcher> launcher_ DROVER_GUARDED_BY(connecting_);
  bool is_stopped_ DROVER_GUARDED_BY(connecting_) = false;
  Mutex making_reaper_;
  std::unique_ptr<TaskReaper> reaper_ DROVER_GUARDED_BY(making_reaper_);
};

Result<std::shared_ptr<Launcher>> ProcessDriver::Tasks::launcher() {
  const MutexLock lock(connecting_);  // held while connecting: callers that come together share the connection
  if (is_stopped_) return unavailable("the driver is stopping");
  if (launcher_ && launcher_->is_connected()) return launcher_;
  launcher_.reset();
  std::error_code ignored;
  std::filesystem::create_directories(std::filesystem::path(launcher_options.folder).parent_path(), ignored);
  Launcher::Callbacks callbacks;
  callbacks.exited = [this](const Launcher::Task& task) {
    if (task.exit) reaper().exited(task.id, *task.exit);
  };
  callbacks.lost = [this] { reaper().launcher_lost(); };
  DROVER_TRY(launcher_, Launcher::connect(launcher_options, std::move(callbacks), after(kLauncherLimit)));
  return launcher_;
}

Result<std::vector<Launcher::Task>> ProcessDriver::Tasks::list() {
  DROVER_TRY(const auto connected, launcher());
  return connected->list(after(kLauncherLimit));
}

TaskReaper& ProcessDriver::Tasks::reaper() {
  const MutexLock lock(making_reaper_);
  if (!reaper_) reaper_ = std::make_unique<TaskReaper>(driver, store, [this] { return list(); });
  return *reaper_;
}

Result<std::shared_ptr<ProcessTask>> ProcessDriver::Tasks::find(std::string_view id) const {
  std::shared_ptr<ProcessTask> task = store.find(id);
  if (!task || task->state() == ProcessTask::State::starting) return not_found(std::string(kTaskNotFound));
  return task;
}

bool ProcessDriver::Tasks::is_rooted() const {
  return std::ranges::any_of(parts, [](const auto& part) { return part->makes_root(); });
}

Status ProcessDriver::Tasks::kill(const ProcessTask& task) {
  if (task.state() == ProcessTask::State::exited) return ok_status();
  DROVER_RETURN_IF_ERROR(task.kill(kKillLimit));
  if (task.wait_until(after(kSettleLimit))) return ok_status();
  return deadline_exceeded("task " + task.id() + " was killed, but its end was not noticed in time");
}

void ProcessDriver::Tasks::stop() {
  std::shared_ptr<Launcher> last;
  {
    const MutexLock lock(connecting_);
    is_stopped_ = true;
    last = std::move(launcher_);
  }
  execs.end();
  last.reset();  // joins its thread, which calls the reaper
  TaskReaper* const made = [this] {
    const MutexLock lock(making_reaper_);
    return reaper_.get();
  }();
  if (made) made->stop();
  for (const auto& task : store.all()) task->abandon();
}

ProcessDriver::ProcessDriver(std::string name, std::string launcher_folder)
    : tasks_(std::make_unique<Tasks>(std::move(name))) {
  tasks_->is_of_agent = launcher_folder.empty();
  tasks_->launcher_options.folder = launcher_folder.empty() ? default_folder(tasks_->driver) : launcher_folder;
  tasks_->parts.push_back(network_namespace());
}

ProcessDriver::~ProcessDriver() { ProcessDriver::stop(); }

void ProcessDriver::stop() { tasks_->stop(); }

void ProcessDriver::set_agent(const AgentInfo& agent) {
  if (tasks_->is_of_agent) tasks_->launcher_options.folder = agent.data_dir + "/launcher";
}

void ProcessDriver::set_launcher(Launcher::Options options) { tasks_->launcher_options = std::move(options); }

void ProcessDriver::isolate_with(std::vector<std::unique_ptr<IsolationPart>> parts) {
  tasks_->parts = std::move(parts);
}

Status ProcessDriver::configure_once(const hashicorp::nomad::plugins::base::proto::SetConfigRequest& request,
                                     const std::function<void()>& open) {
  if (!configured_) {
    open();
    configured_ = request.msgpack_config();
  } else if (*configured_ != request.msgpack_config()) {
    return failed_precondition(tasks_->driver + " is configured already; another configuration needs a new process");
  }
  return ok_status();
}

hclspec::Attribute ProcessDriver::launcher_option() const {
  return {.name = std::string(kLauncherOption),
          .type = "string",
          .help = "Absolute path of the folder with the launcher's socket. Unless said, inside the agent the agent's, "
                  "for a program /run/drover-" +
                  tasks_->driver + "."};
}

Result<Launcher::Options> read_launcher_option(TaskOptions& raw) {
  Launcher::Options launcher{.folder = raw.text(kLauncherOption)};
  if (launcher.folder.empty() || launcher.folder.starts_with('/')) return launcher;
  return invalid_argument("config option \"" + std::string(kLauncherOption) + "\" must be an absolute path");
}

driver::DriverCapabilities ProcessDriver::capabilities() const {
  driver::DriverCapabilities capabilities;
  capabilities.set_send_signals(true);
  capabilities.set_exec(true);
  capabilities.set_fs_isolation(driver::DriverCapabilities::NONE);
  capabilities.set_mount_configs(driver::DriverCapabilities::NO_MOUNTS);  // a task sees the machine's
  capabilities.add_network_isolation_modes(driver::NetworkIsolationSpec::HOST);
  for (const auto& part : tasks_->parts) part->describe(capabilities);
  return capabilities;
}

driver::FingerprintResponse ProcessDriver::fingerprint() {
  driver::FingerprintResponse print;
  (*print.mutable_attributes())["driver." + tasks_->driver].set_string_val("1");
  print.set_health(driver::FingerprintResponse::HEALTHY);
  print.set_health_description("Healthy");
  return print;
}

Result<std::string> ProcessDriver::encode_config(std::string_view config_json) {
  DROVER_TRY(TaskOptions options, TaskOptions::from_json(config_json));
  driver::TaskConfig nobody;
  DROVER_RETURN_IF_ERROR(command(nobody, options).status());
  DROVER_RETURN_IF_ERROR(options.finish());
  return TaskOptions::to_msgpack(config_json);
}

Result<ProcessDriver::Command> ProcessDriver::command_of(const driver::TaskConfig& config) {
  DROVER_TRY(TaskOptions options, TaskOptions::from_msgpack(config.msgpack_driver_config()));
  auto wanted = command(config, options);
  DROVER_RETURN_IF_ERROR(options.finish());
  return wanted;
}

bool ProcessDriver::ask_to_end(const driver::TaskConfig&) { return false; }

Result<IsolationNeeds> ProcessDriver::isolation_needs(const driver::TaskConfig&) { return IsolationNeeds(); }

Result<TaskProcess> ProcessDriver::launch(const ProcessTask& task, const Command& wanted, IsolationSet& isolation) {
  const driver::TaskConfig& config = task.config();
  DROVER_TRY(Launcher::Start start, start_of(config, wanted, tasks_->is_rooted()));
  start.stdout_path = fifo(config.stdout_path());
  start.stderr_path = fifo(config.stderr_path());
  DROVER_TRY(const IsolationNeeds needs, isolation_needs(config));
  DROVER_TRY(const auto connected, tasks_->launcher());
  DROVER_TRY(isolation, IsolationSet::set_up(tasks_->parts, config, needs));
  isolation.apply(start);
  const auto started = start_or_find(*connected, start);
  if (!started) {
    undo(isolation);
    return may_try_again(started.status());
  }
  if (started->exit) tasks_->reaper().exited(task.id(), *started->exit);
  return TaskProcess{.pid = started->pid, .start_time = started->start_time, .started_at = started->started_at};
}

Result<driver::StartTaskResponse> ProcessDriver::start_task(const driver::TaskConfig& config) {
  if (config.id().empty()) return invalid_argument("a task needs an id");
  const auto task = std::make_shared<ProcessTask>(config);
  DROVER_RETURN_IF_ERROR(tasks_->store.insert(task));
  IsolationSet isolation;
  const auto process = [&]() -> Result<TaskProcess> {
    DROVER_TRY(const Command wanted, command_of(config));
    auto launched = launch(*task, wanted, isolation);
    if (launch_context().empty()) return launched;
    return std::move(launched).with_context(launch_context());
  }();
  if (!process) {
    tasks_->store.erase(*task);
    return process.status();
  }

  driver::StartTaskResponse response;
  driver::TaskHandle& handle = *response.mutable_handle();
  handle.set_version(kHandleVersion);
  *handle.mutable_config() = config;
  handle.set_state(driver::RUNNING);
  handle.set_driver_state(write_handle(
      {.process = *process, .isolation = isolation.states(), .launcher = tasks_->launcher_options.folder}));
  if (const auto exit = task->set_running(*process, std::move(isolation))) tasks_->reaper().exited(task->id(), *exit);
  return response;
}

Status ProcessDriver::recover_task(const driver::TaskHandle& handle) {
  const driver::TaskConfig& config = handle.config();
  const std::string& id = config.id();
  if (id.empty()) return invalid_argument("the handle names no task");
  if (tasks_->store.find(id)) return ok_status();
  // Without a state the driver was told to start the task and could not say what became of it.
  const bool is_sure = !handle.driver_state().empty();
  if (is_sure && handle.version() != kHandleVersion)
    return invalid_argument("handle of task " + id + " has version " + std::to_string(handle.version()) +
                            ", this driver reads version " + std::to_string(kHandleVersion));
  auto state = is_sure ? read_handle(handle.driver_state()) : std::optional(ProcessHandle());
  if (!state) return invalid_argument("handle of task " + id + " has a driver state that cannot be read");
  const auto set_up_again = [&]() -> Result<IsolationSet> {
    DROVER_TRY(const IsolationNeeds needs, isolation_needs(config));
    return IsolationSet::set_up(tasks_->parts, config, needs);
  };
  auto isolation = is_sure ? IsolationSet::recover(tasks_->parts, config, state->isolation) : set_up_again();
  if (!isolation) return isolation.status().with_context("handle of task " + id);
  // Known before the launcher is asked, so that an exit between its answer and the next line is not missed.
  const auto task = std::make_shared<ProcessTask>(config);
  if (!tasks_->store.insert(task).ok()) return ok_status();  // another caller was faster

  const auto known = tasks_->list();
  if (!known && known.status().code() != Code::unavailable) {
    tasks_->store.erase(*task);
    return known.status().with_context("recover task " + id);
  }
  TaskProcess& process = state->process;
  for (const Launcher::Task& one : known.value_or({})) {
    if (one.id != id) continue;
    if (is_sure && (one.pid != process.pid || one.start_time != process.start_time)) continue;
    process = {.pid = one.pid, .start_time = one.start_time, .started_at = one.started_at};
    auto exit = task->set_running(process, *std::move(isolation));
    if (one.exit) exit = one.exit;
    if (exit) tasks_->reaper().exited(id, *exit);
    return ok_status();
  }
  // The launcher that started it is gone.
  if (const int fd = is_sure ? open_process(process.pid, process.start_time) : -1; fd >= 0) {
    ::close(fd);
    (void)task->set_running(process, *std::move(isolation));
    tasks_->reaper().watch(task);
    return ok_status();
  }
  undo(*isolation);
  tasks_->store.erase(*task);
  return not_found(std::string(kTaskNotFound));
}

Result<driver::ExitResult> ProcessDriver::wait_task(std::string_view id, std::stop_token stop) {
  DROVER_TRY(const auto task, tasks_->find(id));
  return task->wait(std::move(stop));
}

bool ProcessDriver::watch_task(std::string_view id, std::stop_token stop, TellExit done) {
  const auto task = tasks_->find(id);
  if (!task) return done(task.status()), true;
  (*task)->watch(std::move(stop), std::move(done));
  return true;
}

Status ProcessDriver::stop_task(std::string_view id, std::chrono::nanoseconds timeout, std::string_view signal) {
  DROVER_TRY(const auto task, tasks_->find(id));
  DROVER_TRY(const int number, parse_signal(signal.empty() ? kDefaultSignal : signal));
  if (task->state() == ProcessTask::State::exited) return ok_status();
  std::chrono::nanoseconds left = std::clamp(timeout, std::chrono::nanoseconds(0), kLongestTimeout);
  if (ask_to_end(task->config())) {
    if (task->wait_until(after(left))) return ok_status();
    left = std::min(left, kAfterAsking);
  }
  const TaskProcess process = task->process();
  signal_first_process(process.pid, process.start_time, number);
  if (task->wait_until(after(left))) return ok_status();
  return Tasks::kill(*task);
}

Status ProcessDriver::destroy_task(std::string_view id, bool force) {
  DROVER_TRY(const auto task, tasks_->find(id));
  if (task->state() != ProcessTask::State::exited) {
    if (!force)
      return failed_precondition("task " + std::string(id) + " is running; stop it first, or destroy it with force");
    DROVER_RETURN_IF_ERROR(Tasks::kill(*task));
  }
  // A launcher that cannot be reached has nothing left to forget.
  if (const auto connected = tasks_->launcher(); connected.ok()) {
    if (const Status forgotten = (*connected)->forget(id, after(kLauncherLimit)); !forgotten.ok())
      log::debug(tasks_->driver, "launcher did not forget a task", {{"task", id}, {"error", forgotten.message()}});
  }
  tasks_->store.erase(*task);
  return ok_status();
}

Result<driver::InspectTaskResponse> ProcessDriver::inspect_task(std::string_view id) {
  DROVER_TRY(const auto task, tasks_->find(id));
  driver::InspectTaskResponse response;
  *response.mutable_task() = task->status();
  (*response.mutable_driver()->mutable_attributes())["pid"] = std::to_string(task->process().pid);
  return response;
}

Result<driver::TaskStats> ProcessDriver::task_stats(std::string_view id) {
  DROVER_TRY(const auto task, tasks_->find(id));
  if (task->state() == ProcessTask::State::exited) return failed_precondition("task " + std::string(id) + " has ended");
  return sample_usage(*task);
}

Status ProcessDriver::signal_task(std::string_view id, std::string_view signal) {
  DROVER_TRY(const auto task, tasks_->find(id));
  DROVER_TRY(const int number, parse_signal(signal.empty() ? kDefaultSignal : signal));
  const TaskProcess process = task->process();
  if (task->state() == ProcessTask::State::exited || !signal_first_process(process.pid, process.start_time, number))
    return failed_precondition("task " + std::string(id) + " has ended");
  return ok_status();
}

Status ProcessDriver::exec_task_streaming(const ExecCommand& wanted, ExecStream& stream) {
  DROVER_TRY(const auto task, tasks_->find(wanted.task_id));
  if (task->state() == ProcessTask::State::exited) return failed_precondition("task " + wanted.task_id + " has ended");
  if (wanted.command.empty()) return invalid_argument("no command is named");
  const ExecCalls::Entry entry(tasks_->execs);
  if (!entry) return unavailable("the driver is stopping");
  DROVER_TRY(Command command, command_of(task->config()));
  command.program = wanted.command.front();
  command.arguments.assign(wanted.command.begin() + 1, wanted.command.end());
  DROVER_TRY(Launcher::Start start, start_of(task->config(), command, tasks_->is_rooted()));
  task->isolation().apply(start);
  if (start.confinement) {
    // Nothing is made anew: the command goes where the task is.
    start.confinement->root.reset();
    start.confinement->joins = {.pid = task->process().pid, .start_time = task->process().start_time};
  }
  DROVER_TRY(const auto connected, tasks_->launcher());
  const Status done =
      run_process_exec(*connected, std::move(start), wanted.tty, stream, task->ended(), tasks_->execs.ending());
  // The launcher did not find the process that the command was to join.
  return done.code() == Code::not_found ? failed_precondition("task " + wanted.task_id + " has ended") : done;
}

}  // namespace drover
