// How a task comes to run: found again after a restart of the agent, or made ready and started.
#include "driver_lookup.h"
#include "drover/log.h"
#include "drover/mutex.h"
#include "nomad/plugins/driver.pb.h"
#include "task_events.h"
#include "task_runner.h"
#include "task_setup.h"

namespace drover::agent {
namespace {

using Progress = TaskView::Progress;
using namespace std::chrono_literals;

constexpr auto kDriverPatience = 60s;  // with a driver that has a task of ours and does not answer

// True when a failed hook may do better the next time.
bool may_help(Code code) {
  return code == Code::unavailable || code == Code::cancelled || code == Code::deadline_exceeded ||
         code == Code::resource_exhausted;
}

}  // namespace

// Behind a driver that is late, or being restarted, the task may run on: started anew it would run twice.
Async<Status> TaskRunner::recover(driver::TaskHandle handle) {
  const SteadyTime end = client_.now() + kDriverPatience;
  const std::string name = current_task().driver();
  bool are_hooks_run = false;
  while (true) {
    TaskDriver* const driver = find_driver(name);
    {
      MutexLock lock(mutex_);
      driver_ = driver;
    }
    Status status = unavailable("the driver " + name + " is not there");
    if (driver) {
      if (client_.follow_events) client_.follow_events(name, *driver);
      const auto ask = [this, driver, &handle, are_hooks_run] {
        if (!are_hooks_run) {
          const Variables node = node_variables(*client_.node(), client_.host.agent().region);
          (void)run_prestart(*driver, node, true, {});  // what failed is shown; the task goes on
        }
        return driver->recover_task(handle);
      };
      status = co_await strand_.borrow(ask);
      are_hooks_run = true;
    }
    const bool may_be_late = status.code() == Code::unavailable || status.code() == Code::deadline_exceeded;
    if (!may_be_late || client_.now() >= end) co_return status;
    const bool is_over = co_await wait_orders(
        client_.now() + kAskAgain, [this]() DROVER_REQUIRES(mutex_) { return orders_.detach || orders_.kill; });
    if (is_over) co_return status;
  }
}

Async<TaskRunner::Next> TaskRunner::reattach() {
  driver::TaskHandle handle;
  bool is_unsure = false;  // a former agent ended while the driver started it
  {
    MutexLock lock(mutex_);
    handle = stored_.handle();
    is_unsure = stored_.starting();
  }
  const Status status = co_await recover(handle);
  {
    MutexLock lock(mutex_);
    if (!status.ok() && orders_.detach) co_return Next::detached;
    running_ = status.ok();
  }
  if (status.ok()) {
    if (is_unsure) change([&]() DROVER_REQUIRES(mutex_) { note_started(); });
    co_await call_hooks([](TaskHooks& hooks) { hooks.poststart(); });
    co_return Next::watch;
  }
  ended_ids_.push_back(handle.config().id());  // what there may be of it
  co_await call_hooks([](TaskHooks& hooks) { hooks.exited(); });
  if (is_unsure) {
    log::info("agent", "task was not started", {{"task", name_}, {"error", status.message()}});
    change([&]() DROVER_REQUIRES(mutex_) { forget_start(); });
    co_await release();
    co_return co_await await_permission();
  }
  log::warn("agent", "task not recovered", {{"task", name_}, {"error", status.message()}});
  change([&]() DROVER_REQUIRES(mutex_) {
    stored_.clear_handle();
    progress_ = Progress::starting;
    event::append(*stored_.mutable_state(), event::failed_restore(client_.wall_ns(), status.message()));
  });
  co_return co_await after_end({TaskEnd::Kind::failed});
}

void TaskRunner::note_started() {
  stored_.clear_starting();
  v1::TaskState& state = *stored_.mutable_state();
  state.set_state("running");
  state.set_started_at(client_.wall_ns());
  event::append(state, event::started(client_.wall_ns()));
}

// As if the start had not been tried.
void TaskRunner::forget_start() {
  stored_.clear_handle();
  stored_.clear_starting();
  const bool had_its_turn = had_turn();
  progress_ = had_its_turn ? Progress::starting : Progress::waiting;
  orders_.allowed = orders_.allowed || had_its_turn;
}

Async<TaskRunner::Next> TaskRunner::await_permission() {
  co_await wait_orders({}, [this]() DROVER_REQUIRES(mutex_) {
    return orders_.allowed || orders_.detach || orders_.kill || orders_.fail;
  });
  std::optional<Kill> kill;
  std::optional<v1::TaskEvent> fail;
  {
    MutexLock lock(mutex_);
    if (orders_.detach) co_return Next::detached;
    fail = std::exchange(orders_.fail, std::nullopt);
    kill = orders_.kill;
  }
  if (fail) co_return co_await fail_setup(*std::move(fail));
  if (kill) co_return co_await give_up(*std::move(kill));
  co_return Next::start;
}

Async<TaskRunner::Next> TaskRunner::fail_setup(v1::TaskEvent event) {
  change([&]() DROVER_REQUIRES(mutex_) { event::append(*stored_.mutable_state(), std::move(event)); });
  co_await die(true);
  co_return Next::settle;
}

Async<TaskRunner::Next> TaskRunner::start() {
  {
    MutexLock lock(mutex_);
    progress_ = Progress::starting;
    event::append(*stored_.mutable_state(), event::setup(client_.wall_ns()));
  }
  const std::stop_token stop = arm();
  const auto attempt = [this, stop] { return launch(stop); };
  Launch launched = co_await strand_.borrow(attempt);
  if (!launched.driver) {
    {
      MutexLock lock(mutex_);
      if (orders_.detach) co_return Next::detached;
    }
    co_await call_hooks([](TaskHooks& hooks) { hooks.exited(); });
    {
      MutexLock lock(mutex_);
      stored_.clear_handle();
      stored_.clear_starting();
    }
    if (!launched.end) co_return co_await fail_setup(*std::move(launched.failure));
    if (launched.failure) tell(*std::move(launched.failure));
    co_return co_await after_end({*launched.end});
  }
  // The handle is on disk before anyone hears of the task: a crash from here on loses nothing.
  change([&]() DROVER_REQUIRES(mutex_) {
    driver_ = launched.driver;
    running_ = true;
    progress_ = Progress::running;
    *stored_.mutable_handle() = std::move(launched.handle);
    *stored_.mutable_network() = std::move(launched.network);
    note_started();
  });
  co_await call_hooks([](TaskHooks& hooks) { hooks.poststart(); });
  co_return Next::watch;
}

Result<driver::TaskConfig> TaskRunner::run_prestart(const TaskDriver& driver, const Variables& node, bool is_recovered,
                                                    const std::stop_token& stop) {
  const driver::DriverCapabilities capabilities = driver.capabilities();
  return hooks_.prestart({.capabilities = capabilities,
                          .node = node,
                          .recovered = is_recovered,
                          .stop = stop,
                          .failed = [&](const std::string& hook, const Status& why) {
                            if (why.code() == Code::cancelled && stop.stop_requested()) return;
                            tell(event::hook_failed(client_.wall_ns(), hook, why.message()));
                          }});
}

TaskRunner::Launch TaskRunner::launch(const std::stop_token& stop) {
  const AllocSpecPtr spec = this->spec();
  const v1::Task& task = *spec->task(name_);
  const int64_t now = client_.wall_ns();
  TaskDriver* const driver = find_driver(task.driver());
  if (!driver) {
    return {.failure = event::setup_failure(
                now, "failed to get driver \"" + task.driver() + "\": this node does not have it")};
  }
  if (Status status = check_supported(used_blocks(*spec->group, task), client_.hooks.infos); !status.ok())
    return {.failure = event::setup_failure(now, status.message())};
  return launch_on(*driver, *spec, task, stop);
}

TaskRunner::Launch TaskRunner::launch_on(TaskDriver& driver, const AllocSpec& spec, const v1::Task& task,
                                         const std::stop_token& stop) {
  const auto now = [&] { return client_.wall_ns(); };
  const Variables node = node_variables(*client_.node(), client_.host.agent().region);
  auto hooked = run_prestart(driver, node, false, stop);
  if (!hooked)
    return {.end = may_help(hooked.status().code()) ? TaskEnd::Kind::start_failed : TaskEnd::Kind::start_impossible};
  auto setup = set_up_task({.client = client_,
                            .spec = spec,
                            .task = task,
                            .folders = alloc_folders_,
                            .node = node,
                            .hooked = *hooked,
                            .id = alloc_id_.to_string() + "/" + name_ + "/" + Uuid::random().short_string()});
  if (!setup) return {.failure = event::failed_validation(now(), setup.status().message())};
  driver::TaskConfig& task_config = *setup->config;
  auto config = driver.encode_config(setup->config_json);
  if (!config) {
    const std::string why = config.status().message();
    if (config.status().code() != Code::unavailable) return {.failure = event::failed_validation(now(), why)};
    return {.failure = event::driver_failure(now(), why), .end = TaskEnd::Kind::start_failed};
  }
  task_config.set_msgpack_driver_config(*std::move(config));
  {
    MutexLock lock(mutex_);
    if (network_) *task_config.mutable_network_isolation_spec() = *network_;
    set_dns(spec, network_status_, task_config);
    starting_id_ = task_config.id();
    // On disk before the driver acts: an agent that ends meanwhile must not start it twice in its next life.
    *stored_.mutable_handle()->mutable_config() = task_config;
    stored_.set_starting(true);
  }
  (void)persist();  // logged
  if (client_.follow_events) client_.follow_events(task.driver(), driver);
  auto started = driver.start_task(task_config);
  if (!started) {
    const bool may_do_better = started.status().code() == Code::failed_precondition;
    return {.failure = event::driver_failure(now(), started.status().message()),
            .end = may_do_better ? TaskEnd::Kind::start_failed : TaskEnd::Kind::start_impossible};
  }
  Launch launched{.driver = &driver, .handle = started->handle(), .network = started->network_override()};
  if (launched.handle.config().id().empty()) *launched.handle.mutable_config() = task_config;
  return launched;
}

}  // namespace drover::agent
