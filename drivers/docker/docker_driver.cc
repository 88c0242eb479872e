#include "docker_driver.h"

#include <unistd.h>

#include <future>
#include <nlohmann/json.hpp>

#include "config/container_options.h"
#include "create/container_body.h"
#include "docker_running.h"
#include "drover/log.h"
#include "drover/signals.h"
#include "network/pause_network.h"
#include "nomad/plugins/driver.pb.h"
#include "nomad/plugins/hclspec.pb.h"
#include "task/container_exec.h"
#include "task/container_task.h"
#include "task/containers.h"
#include "task/task_start.h"

namespace drover::docker {
namespace {

using namespace std::chrono_literals;

constexpr int32_t kHandleVersion = 1;
constexpr auto kFindTime = 30s;

Status no_task() { return not_found(std::string(kTaskNotFound)); }
Status stopping() { return unavailable("the driver is stopping"); }

}  // namespace

void DockerDriver::stop() {
  calls_.end();
  std::map<std::string, Entry, std::less<>> tasks;
  {
    const MutexLock lock(mutex_);
    is_stopped_ = true;
    tasks.swap(tasks_);
  }
  for (auto& [id, entry] : tasks) {
    if (entry.task) entry.task->let_go();
  }
  if (!running_) return;
  running_->cores.stop();
  running_->puller.stop();
  running_->keeper.stop();
  running_->dangling.stop();
}

Result<std::shared_ptr<ContainerTask>> DockerDriver::find(std::string_view id) {
  const MutexLock lock(mutex_);
  const auto at = tasks_.find(id);
  if (at == tasks_.end() || !at->second.task) return no_task();
  return at->second.task;
}

std::set<std::string> DockerDriver::held_containers() {
  const MutexLock lock(mutex_);
  std::set<std::string> out;
  for (const auto& [id, entry] : tasks_) {
    if (entry.task) out.insert(entry.task->id());
  }
  for (const auto& [alloc, container] : networks_) out.insert(container);
  return out;
}

bool DockerDriver::reads_logs(const driver::TaskConfig& config) const {
  return !options_.disable_log_collection && !(config.stdout_path().empty() && config.stderr_path().empty()) &&
         !(config.stdout_path() == "/dev/null" && config.stderr_path() == "/dev/null");
}

Result<driver::StartTaskResponse> DockerDriver::start_task(const driver::TaskConfig& config) {
  const ExecCalls::Entry call(calls_);
  if (!call || !running_) return stopping();
  if (config.id().empty()) return invalid_argument("a task needs an id");
  std::stop_source starting;
  {
    const MutexLock lock(mutex_);
    if (!tasks_.try_emplace(config.id(), Entry{.task = nullptr, .starting = starting}).second)
      return already_exists("task " + config.id() + " was started before");
  }
  const std::stop_callback with_driver(calls_.ending(), [&starting] { starting.request_stop(); });
  auto started = start_known(config, starting.get_token());
  if (started) return started;
  const MutexLock lock(mutex_);
  tasks_.erase(config.id());
  return started;
}

Result<driver::StartTaskResponse> DockerDriver::start_known(const driver::TaskConfig& config,
                                                            const std::stop_token& stop) {
  // A mistake of the job itself is one without an engine, too.
  DROVER_TRY(const ContainerOptions options, read_container_options(config.msgpack_driver_config()));
  auto known = facts();
  if (!known) return start_error(known.status(), "Failed to connect to docker daemon");
  (void)node_of(&config);
  const auto is_held = [this](const std::string& container) { return held_containers().contains(container); };
  const auto tell = [this, config, image = options.image](const std::string& text) {
    events_.tell(config, text, {{"image", image}});
  };
  DROVER_TRY(const Started started, start_container_of({.engine = running_->engine,
                                                        .puller = running_->puller,
                                                        .keeper = running_->keeper,
                                                        .plugin = options_,
                                                        .facts = *known,
                                                        .is_held = is_held,
                                                        .tell = tell},
                                                       config, stop));
  auto task =
      std::make_shared<ContainerTask>(running_->engine, config,
                                      ContainerTask::Options{.handle = started.handle,
                                                             .container = started.container,
                                                             .reads_logs = reads_logs(config),
                                                             .position_file = position_file(started.handle.container)});
  running_->cores.follow(started.handle.container, started.cores_file, started.container.cpuset_cpus);
  driver::StartTaskResponse response;
  driver::TaskHandle& handle = *response.mutable_handle();
  handle.set_version(kHandleVersion);
  *handle.mutable_config() = config;
  handle.set_state(driver::RUNNING);
  handle.set_driver_state(write_handle(started.handle));
  *response.mutable_network_override() = network_of(started.container, started.handle, started.advertises_ipv6);
  const MutexLock lock(mutex_);
  tasks_[config.id()].task = std::move(task);
  return response;
}

Status DockerDriver::recover_task(const driver::TaskHandle& handle) {
  const ExecCalls::Entry call(calls_);
  if (!call || !running_) return stopping();
  const driver::TaskConfig& config = handle.config();
  {
    const MutexLock lock(mutex_);
    if (tasks_.contains(config.id())) return ok_status();
  }
  if (handle.version() != kHandleVersion)
    return invalid_argument("handle of task " + config.id() + " has version " + std::to_string(handle.version()) +
                            ", this driver reads version " + std::to_string(kHandleVersion));
  const auto kept = read_handle(handle.driver_state());
  if (!kept) return invalid_argument("handle of task " + config.id() + " has a driver state that cannot be read");
  auto container = inspect_container(running_->engine, kept->container, Patience::of(kFindTime, calls_.ending()));
  if (container.status().code() == Code::not_found) return no_task();
  if (!container) return unavailable("the container of task " + config.id() + ": " + container.status().message());
  (void)node_of(&config);
  running_->keeper.use(kept->image, config.id());
  const auto options = read_container_options(config.msgpack_driver_config());
  const auto known = facts();
  if (options && known) {
    running_->cores.follow(kept->container, shared_cores_file(config, *options, known->cgroup_version),
                           container->cpuset_cpus);
  } else {
    log::warn("docker", "a container does not follow the shared cores",
              {{"container", kept->container}, {"error", (options ? known.status() : options.status()).message()}});
  }
  const MutexLock lock(mutex_);
  if (is_stopped_) return stopping();
  Entry& entry = tasks_[config.id()];
  if (!entry.task)
    entry.task =
        std::make_shared<ContainerTask>(running_->engine, config,
                                        ContainerTask::Options{.handle = *kept,
                                                               .container = *std::move(container),
                                                               .reads_logs = reads_logs(config),
                                                               .position_file = position_file(kept->container)});
  return ok_status();
}

bool DockerDriver::watch_task(std::string_view id, std::stop_token stop, TellExit done) {
  auto task = find(id);
  if (task) {
    (*task)->watch(std::move(stop), std::move(done));
  } else {
    done(task.status());
  }
  return true;
}

Result<driver::ExitResult> DockerDriver::wait_task(std::string_view id, std::stop_token stop) {
  auto told = std::make_shared<std::promise<Result<driver::ExitResult>>>();
  auto exit = told->get_future();
  watch_task(id, std::move(stop), [told](Result<driver::ExitResult> result) { told->set_value(std::move(result)); });
  return exit.get();
}

Status DockerDriver::stop_task(std::string_view id, std::chrono::nanoseconds timeout, std::string_view signal) {
  if (!signal.empty()) DROVER_RETURN_IF_ERROR(parse_signal(signal).status());
  {
    const MutexLock lock(mutex_);
    const auto at = tasks_.find(id);
    if (at != tasks_.end() && !at->second.task) {
      at->second.starting.request_stop();
      return ok_status();
    }
  }
  DROVER_TRY(std::shared_ptr<ContainerTask> task, find(id));
  return task->stop(timeout, signal.empty() ? std::string() : signal_name(*parse_signal(signal)));
}

Status DockerDriver::destroy_task(std::string_view id, bool force) {
  DROVER_TRY(std::shared_ptr<ContainerTask> task, find(id));
  if (task->is_running()) {
    if (!force) return failed_precondition("must call StopTask for the given task before Destroy or set force to true");
    DROVER_RETURN_IF_ERROR(task->stop({}, {}));
  }
  {
    const MutexLock lock(mutex_);
    const auto at = tasks_.find(id);
    if (at == tasks_.end() || at->second.task != task) return no_task();
    tasks_.erase(at);
  }
  task->let_go();
  running_->cores.forget(task->id());
  if (options_.removes_containers) {
    // One that stays is found again as belonging to no task.
    if (const Status removed = remove_container(running_->engine, task->id()); !removed.ok())
      log::warn("docker", "the container of an ended task could not be removed",
                {{"container", task->id()}, {"error", removed.message()}});
  }
  if (const std::string file = position_file(task->id()); !file.empty()) (void)::unlink(file.c_str());
  running_->keeper.release(task->handle().image, task->config().id());
  return ok_status();
}

Result<driver::InspectTaskResponse> DockerDriver::inspect_task(std::string_view id) {
  DROVER_TRY(std::shared_ptr<ContainerTask> task, find(id));
  return task->inspect();
}

Result<driver::TaskStats> DockerDriver::task_stats(std::string_view id) {
  DROVER_TRY(std::shared_ptr<ContainerTask> task, find(id));
  return task->stats();
}

Status DockerDriver::signal_task(std::string_view id, std::string_view signal) {
  DROVER_TRY(std::shared_ptr<ContainerTask> task, find(id));
  DROVER_TRY(const int number, parse_signal(signal.empty() ? "SIGTERM" : signal));
  return task->signal(signal_name(number));
}

Status DockerDriver::exec_task_streaming(const ExecCommand& command, ExecStream& stream) {
  const ExecCalls::Entry call(calls_);
  if (!call) return stopping();
  DROVER_TRY(std::shared_ptr<ContainerTask> task, find(command.task_id));
  if (!task->is_running()) return failed_precondition("task " + command.task_id + " has ended");
  return run_container_exec(running_->engine, task->id(), command, stream, task->ended(), calls_.ending());
}

Result<driver::CreateNetworkResponse> DockerDriver::create_network(const driver::CreateNetworkRequest& request) {
  const ExecCalls::Entry call(calls_);
  if (!call || !running_) return stopping();
  DROVER_TRY(const PauseNetwork made,
             make_pause_network(
                 {.engine = running_->engine, .puller = running_->puller, .plugin = options_, .node = node_of(nullptr)},
                 request, calls_.ending()));
  driver::CreateNetworkResponse response;
  driver::NetworkIsolationSpec& spec = *response.mutable_isolation_spec();
  spec.set_mode(driver::NetworkIsolationSpec::GROUP);
  spec.set_path(made.path);
  (*spec.mutable_labels())[kSandboxId] = made.container;
  if (!request.hostname().empty()) (*spec.mutable_labels())[kSandboxHostname] = request.hostname();
  response.set_created(made.is_new);
  const MutexLock lock(mutex_);
  networks_[request.alloc_id()] = made.container;
  return response;
}

Status DockerDriver::destroy_network(const driver::DestroyNetworkRequest& request) {
  const ExecCalls::Entry call(calls_);
  if (!call || !running_) return stopping();
  const auto& labels = request.isolation_spec().labels();
  const auto holder = labels.find(kSandboxId);
  DROVER_RETURN_IF_ERROR(
      remove_container(running_->engine, holder != labels.end() ? holder->second : pause_name(request.alloc_id())));
  const MutexLock lock(mutex_);
  networks_.erase(request.alloc_id());
  return ok_status();
}

}  // namespace drover::docker
