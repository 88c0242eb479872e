#include "drover/process_driver.h"

#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <csignal>
#include <filesystem>

#include "drover/process.h"
#include "drover/signals.h"
#include "nomad/plugins/driver.pb.h"
#include "nomad/plugins/structs.pb.h"

namespace drover {

using namespace std::chrono_literals;

namespace {

constexpr int32_t kHandleVersion = 1;
constexpr auto kLauncherTime = 10s;
constexpr auto kKillTime = 5s;  // within which a killed process has gone
constexpr std::chrono::nanoseconds kLongest = std::chrono::hours(24 * 365);
constexpr int64_t kSecond = 1'000'000'000;

SteadyTime after(std::chrono::nanoseconds time) {
  return std::chrono::steady_clock::now() + std::clamp(time, std::chrono::nanoseconds(0), kLongest);
}

void set_time(google::protobuf::Timestamp& stamp, int64_t ns) {
  stamp.set_seconds(ns / kSecond);
  stamp.set_nanos(static_cast<int32_t>(ns % kSecond));
}

std::string default_folder(const std::string& name) {
  return ::geteuid() == 0 ? "/run/drover-" + name : "/tmp/drover-" + name + "-" + std::to_string(::geteuid());
}

// A path as it is; a name from the folders of PATH. Errors: not_found.
Result<std::string> find_program(const std::string& program, const std::map<std::string, std::string>& environment) {
  if (program.find('/') != std::string::npos) return program;
  const auto path = environment.find("PATH");
  std::string_view folders =
      path == environment.end() ? "/usr/local/bin:/usr/bin:/bin" : std::string_view(path->second);
  while (!folders.empty()) {
    const size_t end = std::min(folders.find(':'), folders.size());
    const std::string file = std::string(folders.substr(0, end)) + "/" + program;
    if (end > 0 && ::access(file.c_str(), X_OK) == 0) return file;
    folders.remove_prefix(std::min(end + 1, folders.size()));
  }
  return not_found("there is no program \"" + program + "\" in the task's PATH");
}

uint64_t ticks_of(const std::vector<ProcessStat>& tree) {
  uint64_t ticks = 0;
  for (const ProcessStat& each : tree) ticks += each.user_ticks + each.system_ticks;
  return ticks;
}

}  // namespace

struct ProcessDriver::Task {
  driver::TaskConfig config;
  Launcher::Task process;      // constant, but for `exit`, which is guarded by the driver's mutex
  bool is_lost = false;        // guarded by the driver's mutex; the launcher has gone and its result with it
  uint64_t former_ticks = 0;   // guarded by the driver's mutex; of the last sample
  SteadyTime former_sample{};  // guarded by the driver's mutex
  std::stop_source ended;      // requested when it has ended: what runs beside it ends, too
  bool has_ended() const { return process.exit.has_value() || is_lost; }
  // Without its launcher it runs on, and nobody would end it.
  void kill_lost(std::mutex& of_driver) const {
    {
      const std::lock_guard lock(of_driver);
      if (!is_lost) return;
    }
    const auto limit = std::chrono::duration_cast<std::chrono::milliseconds>(kKillTime).count();
    (void)kill_tree(process.pid, process.start_time, static_cast<int>(limit));
  }
};

ProcessDriver::ProcessDriver(std::string name, std::string launcher_folder)
    : name_(std::move(name)),
      launcher_options_{.folder = launcher_folder.empty() ? default_folder(name_) : std::move(launcher_folder),
                        .program = {}} {}

ProcessDriver::~ProcessDriver() { ProcessDriver::stop(); }

void ProcessDriver::stop() {
  std::shared_ptr<Launcher> last;  // its destructor joins a thread that calls us
  {
    const std::lock_guard lock(mutex_);
    is_stopping_ = true;
    last = std::move(launcher_);
    changed_.notify_all();
  }
  execs_.end();
}

driver::DriverCapabilities ProcessDriver::capabilities() const {
  driver::DriverCapabilities capabilities;
  capabilities.set_send_signals(true);
  capabilities.set_exec(true);
  capabilities.set_fs_isolation(driver::DriverCapabilities::NONE);
  capabilities.add_network_isolation_modes(driver::NetworkIsolationSpec::HOST);
  capabilities.add_network_isolation_modes(driver::NetworkIsolationSpec::GROUP);
  return capabilities;
}

driver::FingerprintResponse ProcessDriver::fingerprint() {
  driver::FingerprintResponse print;
  (*print.mutable_attributes())["driver." + name_].set_string_val("1");
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

// ---- the launcher

Result<std::shared_ptr<Launcher>> ProcessDriver::launcher() {
  const std::lock_guard connecting(connecting_);
  {
    const std::lock_guard lock(mutex_);
    if (is_stopping_) return unavailable("the driver is stopping");
    if (launcher_ && launcher_->is_connected()) return launcher_;
  }
  std::error_code ignored;
  std::filesystem::create_directories(std::filesystem::path(launcher_options_.folder).parent_path(), ignored);
  DROVER_TRY(auto made, Launcher::connect(launcher_options_,
                                          {.exited = [this](const Launcher::Task& task) { on_exit(task); },
                                           .lost = [this] { on_lost(); }},
                                          after(kLauncherTime)));
  std::shared_ptr<Launcher> fresh = std::move(made);
  std::shared_ptr<Launcher> former;
  const std::lock_guard lock(mutex_);
  former = std::exchange(launcher_, fresh);
  return fresh;
}

void ProcessDriver::on_exit(const Launcher::Task& ended) {
  TaskPtr gone;
  {
    const std::lock_guard lock(mutex_);
    const auto found = tasks_.find(ended.id);
    if (found == tasks_.end() || !ended.exit) return;
    if (found->second) {
      found->second->process.exit = ended.exit;
      gone = found->second;
    } else {
      early_exits_[ended.id] = *ended.exit;
    }
    changed_.notify_all();
  }
  if (gone) gone->ended.request_stop();
}

void ProcessDriver::on_lost() {
  const std::lock_guard lock(mutex_);
  if (is_stopping_) return;
  for (auto& [id, task] : tasks_) {
    if (task && !task->has_ended()) task->is_lost = true;
  }
  changed_.notify_all();
}

// ---- tasks

Result<ProcessDriver::TaskPtr> ProcessDriver::find(std::string_view id) const {
  const std::lock_guard lock(mutex_);
  const auto found = tasks_.find(id);
  if (found == tasks_.end() || !found->second) return not_found(std::string(kTaskNotFound));
  return found->second;
}

// What the task's program and what runs beside it have in common.
Result<Launcher::Start> ProcessDriver::surroundings_of(const driver::TaskConfig& config, const Command& wanted) {
  std::map<std::string, std::string> environment(config.env().begin(), config.env().end());
  for (const auto& [name, value] : config.device_env()) environment[name] = value;
  for (const auto& [name, value] : wanted.environment) environment[name] = value;
  Launcher::Start start{.id = config.id()};
  DROVER_TRY(start.program, find_program(wanted.program, environment));
  start.arguments.push_back(start.program);
  start.arguments.insert(start.arguments.end(), wanted.arguments.begin(), wanted.arguments.end());
  for (const auto& [name, value] : environment) start.environment.push_back(name + "=" + value);
  start.directory = wanted.directory;
  if (start.directory.empty() && !config.alloc_dir().empty())
    start.directory = config.alloc_dir() + "/" + config.name();
  if (start.directory.empty()) start.directory = "/";
  if (!config.user().empty()) {
    DROVER_TRY(start.user, find_user(config.user()));
  }
  start.network_namespace = config.network_isolation_spec().path();
  return start;
}

Result<ProcessDriver::Command> ProcessDriver::command_of(const driver::TaskConfig& config) {
  DROVER_TRY(TaskOptions options, TaskOptions::from_msgpack(config.msgpack_driver_config()));
  auto wanted = command(config, options);
  DROVER_RETURN_IF_ERROR(options.finish());
  return wanted;
}

Result<Launcher::Start> ProcessDriver::start_of(const driver::TaskConfig& config) {
  DROVER_TRY(const Command wanted, command_of(config));
  DROVER_TRY(Launcher::Start start, surroundings_of(config, wanted));
  start.stdout_path = config.stdout_path() == "/dev/null" ? "" : config.stdout_path();
  start.stderr_path = config.stderr_path() == "/dev/null" ? "" : config.stderr_path();
  return start;
}

Result<driver::StartTaskResponse> ProcessDriver::start_task(const driver::TaskConfig& config) {
  if (config.id().empty()) return invalid_argument("a task needs an id");
  {
    const std::lock_guard lock(mutex_);
    if (tasks_.contains(config.id())) return already_exists("task " + config.id() + " was started before");
    tasks_[config.id()] = nullptr;
  }
  const auto launch = [&]() -> Result<Launcher::Task> {
    DROVER_TRY(const Launcher::Start start, start_of(config));
    DROVER_TRY(const auto connected, launcher());
    auto started = connected->start(start, after(kLauncherTime));
    if (started.status().code() != Code::already_exists) return started;
    // This driver's process ended before it could say so; the caller asks again.
    DROVER_TRY(auto all, connected->list(after(kLauncherTime)));
    const auto same = std::ranges::find(all, config.id(), &Launcher::Task::id);
    return same == all.end() ? started : *std::move(same);
  };
  auto process = launch();
  const std::lock_guard lock(mutex_);
  if (!process) {
    tasks_.erase(config.id());
    early_exits_.erase(config.id());
    return process.status();
  }
  driver::StartTaskResponse response;
  driver::TaskHandle& handle = *response.mutable_handle();
  handle.set_version(kHandleVersion);
  *handle.mutable_config() = config;
  handle.set_state(driver::RUNNING);
  handle.set_driver_state(std::to_string(process->pid) + ":" + std::to_string(process->start_time));
  auto task = std::make_shared<Task>();
  task->config = config;
  task->process = *std::move(process);
  if (const auto early = early_exits_.find(config.id()); early != early_exits_.end()) {
    task->process.exit = early->second;
    early_exits_.erase(early);
  }
  tasks_[config.id()] = std::move(task);
  return response;
}

Status ProcessDriver::recover_task(const driver::TaskHandle& handle) {
  const std::string& id = handle.config().id();
  if (id.empty()) return invalid_argument("the handle names no task");
  if (find(id).ok()) return ok_status();
  if (handle.version() != kHandleVersion)
    return invalid_argument("the handle has version " + std::to_string(handle.version()) +
                            ", this driver reads version " + std::to_string(kHandleVersion));
  const std::string& state = handle.driver_state();
  uint64_t start_time = 0;
  int pid = 0;
  const char* end = state.data() + state.size();
  auto parsed = std::from_chars(state.data(), end, pid);
  const bool has_pid = parsed.ec == std::errc() && parsed.ptr != end && *parsed.ptr == ':';
  if (has_pid) parsed = std::from_chars(parsed.ptr + 1, end, start_time);
  if (!has_pid || parsed.ec != std::errc() || parsed.ptr != end)
    return invalid_argument("the handle has a driver state that cannot be read");

  DROVER_TRY(const auto connected, launcher());
  // Between the list and the entry an exit may come: so the entry is first, and takes what the list says.
  auto task = std::make_shared<Task>();
  task->config = handle.config();
  DROVER_TRY(auto all, connected->list(after(kLauncherTime)));
  for (Launcher::Task& each : all) {
    if (each.id != id || each.pid != pid || each.start_time != start_time) continue;
    task->process = std::move(each);
    {
      const std::lock_guard lock(mutex_);
      tasks_.try_emplace(id, task);
    }
    // One that ended between the two is in the list now.
    DROVER_TRY(all, connected->list(after(kLauncherTime)));
    for (const Launcher::Task& again : all) {
      if (again.id == id) on_exit(again);
    }
    return ok_status();
  }
  return not_found(std::string(kTaskNotFound));
}

Result<driver::ExitResult> ProcessDriver::wait_task(std::string_view id, std::stop_token stop) {
  DROVER_TRY(const TaskPtr task, find(id));
  std::unique_lock lock(mutex_);
  changed_.wait(lock, stop, [&] { return task->has_ended() || is_stopping_ || tasks_.find(id) == tasks_.end(); });
  if (task->process.exit) {
    driver::ExitResult result;
    result.set_exit_code(task->process.exit->exit_code);
    result.set_signal(task->process.exit->signal);
    return result;
  }
  if (task->is_lost) return internal_error("the launcher has ended, and the task's result with it");
  if (is_stopping_ || stop.stop_requested()) return cancelled("nobody waits any more");
  return not_found(std::string(kTaskNotFound));
}

bool ProcessDriver::has_ended(const TaskPtr& task) const {
  const std::lock_guard lock(mutex_);
  return task->has_ended();
}

bool ProcessDriver::wait_exit(const TaskPtr& task, SteadyTime deadline) const {
  std::unique_lock lock(mutex_);
  return changed_.wait_until(lock, deadline, [&] { return task->has_ended() || is_stopping_; });
}

Status ProcessDriver::kill(const TaskPtr& task) {
  const auto limit = std::chrono::duration_cast<std::chrono::milliseconds>(kKillTime).count();
  (void)kill_tree(task->process.pid, task->process.start_time, static_cast<int>(limit));
  if (wait_exit(task, after(kKillTime))) return ok_status();
  return internal_error("the task was killed and has not ended");
}

Status ProcessDriver::stop_task(std::string_view id, std::chrono::nanoseconds timeout, std::string_view signal) {
  DROVER_TRY(const TaskPtr task, find(id));
  DROVER_TRY(const int number, parse_signal(signal.empty() ? "SIGINT" : signal));
  if (has_ended(task)) {
    task->kill_lost(mutex_);
    return ok_status();
  }
  DROVER_TRY(const auto connected, launcher());
  DROVER_RETURN_IF_ERROR(connected->signal(id, number, Launcher::To::group, after(kLauncherTime)));
  if (wait_exit(task, after(timeout))) {
    (void)kill_tree(task->process.pid, task->process.start_time, 1000);  // what it left behind
    return ok_status();
  }
  return kill(task);
}

Status ProcessDriver::destroy_task(std::string_view id, bool force) {
  DROVER_TRY(const TaskPtr task, find(id));
  if (!has_ended(task)) {
    if (!force)
      return failed_precondition("task " + std::string(id) + " is running; stop it first, or destroy it with force");
    DROVER_RETURN_IF_ERROR(kill(task));
  }
  task->kill_lost(mutex_);
  DROVER_TRY(const auto connected, launcher());
  const Status forgotten = connected->forget(id, after(kLauncherTime));
  if (!forgotten.ok() && forgotten.code() != Code::not_found) return forgotten;
  const std::lock_guard lock(mutex_);
  if (const auto found = tasks_.find(id); found != tasks_.end() && found->second == task) tasks_.erase(found);
  changed_.notify_all();
  return ok_status();
}

Result<driver::InspectTaskResponse> ProcessDriver::inspect_task(std::string_view id) {
  DROVER_TRY(const TaskPtr task, find(id));
  driver::InspectTaskResponse out;
  const std::lock_guard lock(mutex_);
  driver::TaskStatus& status = *out.mutable_task();
  status.set_id(task->config.id());
  status.set_name(task->config.name());
  status.set_state(task->has_ended() ? driver::EXITED : driver::RUNNING);
  set_time(*status.mutable_started_at(), task->process.started_at);
  (*out.mutable_driver()->mutable_attributes())["pid"] = std::to_string(task->process.pid);
  if (task->process.exit) {
    set_time(*status.mutable_completed_at(), task->process.exit->at);
    status.mutable_result()->set_exit_code(task->process.exit->exit_code);
    status.mutable_result()->set_signal(task->process.exit->signal);
  }
  return out;
}

Result<driver::TaskStats> ProcessDriver::task_stats(std::string_view id) {
  DROVER_TRY(const TaskPtr task, find(id));
  const auto tree = tree_of(task->process.pid, task->process.start_time, all_processes());
  if (tree.empty()) return failed_precondition("task " + std::string(id) + " has ended");
  const SteadyTime now = std::chrono::steady_clock::now();
  driver::TaskStats stats;
  stats.set_id(std::string(id));
  set_time(*stats.mutable_timestamp(), SystemClock().wall_ns());
  auto& usage = *stats.mutable_agg_resource_usage();
  uint64_t pages = 0;
  for (const ProcessStat& each : tree) pages += each.resident_pages;
  usage.mutable_memory()->set_rss(pages * static_cast<uint64_t>(::sysconf(_SC_PAGESIZE)));
  usage.mutable_memory()->add_measured_fields(driver::MemoryUsage::RSS);
  const uint64_t ticks = ticks_of(tree);
  const std::lock_guard lock(mutex_);
  if (task->former_sample != SteadyTime() && ticks >= task->former_ticks && now > task->former_sample) {
    const double seconds = std::chrono::duration<double>(now - task->former_sample).count();
    const double used = static_cast<double>(ticks - task->former_ticks) / static_cast<double>(::sysconf(_SC_CLK_TCK));
    usage.mutable_cpu()->set_percent(100 * used / seconds);
  }
  usage.mutable_cpu()->add_measured_fields(driver::CPUUsage::PERCENT);
  task->former_ticks = ticks;
  task->former_sample = now;
  return stats;
}

Status ProcessDriver::signal_task(std::string_view id, std::string_view signal) {
  DROVER_TRY(const TaskPtr task, find(id));
  DROVER_TRY(const int number, parse_signal(signal));
  if (has_ended(task)) return failed_precondition("task " + std::string(id) + " has ended");
  DROVER_TRY(const auto connected, launcher());
  return connected->signal(id, number, Launcher::To::process, after(kLauncherTime));
}

Status ProcessDriver::exec_task_streaming(const ExecCommand& wanted, ExecStream& stream) {
  DROVER_TRY(const TaskPtr task, find(wanted.task_id));
  if (has_ended(task)) return failed_precondition("task " + wanted.task_id + " has ended");
  if (wanted.command.empty()) return invalid_argument("no command is named");
  const ExecCalls::Entry entry(execs_);
  if (!entry) return unavailable("the driver is stopping");
  DROVER_TRY(Command command, command_of(task->config));
  command.program = wanted.command.front();
  command.arguments.assign(wanted.command.begin() + 1, wanted.command.end());
  DROVER_TRY(Launcher::Start start, surroundings_of(task->config, command));
  DROVER_TRY(const auto connected, launcher());
  return run_process_exec(*connected, std::move(start), wanted.tty, stream, task->ended.get_token(), execs_.ending());
}

}  // namespace drover
