#include "task_runner.h"

#include <pthread.h>

#include <algorithm>
#include <random>

#include "chroot.h"
#include "driver_lookup.h"
#include "drover/log.h"
#include "drover/metrics.h"
#include "nomad/plugins/device.pb.h"
#include "nomad/plugins/driver.pb.h"
#include "task_events.h"
#include "task_setup.h"

namespace drover::agent {
namespace {

using Progress = TaskView::Progress;
using namespace std::chrono_literals;

constexpr auto kDriverPatience = 60s;  // with a driver that has a task of ours and does not answer
constexpr auto kAskAgain = 1s;
constexpr int kStopTries = 5;

double chance() {
  thread_local std::mt19937_64 generator{std::random_device{}()};
  return std::uniform_real_distribution<double>(0, 1)(generator);
}

}  // namespace

TaskRunner::TaskRunner(const Client& client, AllocDir dir, std::shared_ptr<const AllocSpec> spec, const v1::Task& task,
                       const StoredTask* stored, std::function<void()> changed)
    : client_(client),
      dir_(std::move(dir)),
      alloc_id_(Uuid::from_bytes(spec->allocation.id())),
      name_(task.name()),
      holder_(alloc_id_.to_string() + "/" + name_),
      changed_callback_(std::move(changed)),
      hook_(task_hook(task)),
      sidecar_(task.lifecycle().sidecar()),
      leader_(task.leader()),
      spec_(std::move(spec)),
      task_(task) {
  if (!stored) {
    stored_.mutable_state()->set_state("pending");
    event::append(*stored_.mutable_state(), event::received(client_.wall_ns()));
    return;
  }
  stored_ = *stored;
  if (stored_.state().state() == "dead") {
    progress_ = Progress::dead;
  } else if (stored_.has_handle()) {
    progress_ = Progress::running;
    client_.devices.hold(holder_, given());
  } else if (stored_.restart_count() > 0 || stored_.state().restarts() > 0) {
    // It had its turn and was about to be started again.
    progress_ = Progress::starting;
    orders_.allowed = true;
  }
}

TaskRunner::~TaskRunner() { join(); }

void TaskRunner::join() {
  if (thread_.joinable()) thread_.join();
}

void TaskRunner::begin() {
  thread_ = std::jthread([this] { run(); });
}

// --- Orders

void TaskRunner::order(const std::function<void(Orders&)>& give) {
  std::stop_source interrupt;
  {
    std::lock_guard lock(mutex_);
    give(orders_);
    if (interrupted()) interrupt = interrupt_;
  }
  orders_changed_.notify_all();
  interrupt.request_stop();
}

void TaskRunner::allow_start() {
  order([](Orders& orders) { orders.allowed = true; });
}

void TaskRunner::kill(Kill kill) {
  order([&](Orders& orders) {
    if (!orders.kill && progress_ != Progress::dead) orders.kill = std::move(kill);
  });
}

void TaskRunner::fail(v1::TaskEvent event) {
  order([&](Orders& orders) { orders.fail = std::move(event); });
}

void TaskRunner::detach() {
  order([](Orders& orders) { orders.detach = true; });
}

void TaskRunner::revive(std::string reason) {
  order([&](Orders& orders) {
    if (progress_ == Progress::dead) orders.revive = std::move(reason);
  });
}

Status TaskRunner::restart(std::string reason) {
  Status status;
  order([&](Orders& orders) {
    if (!running_ || orders.kill) {
      status = failed_precondition("Task not running");
    } else if (!orders.restart) {
      orders.restart = std::move(reason);
    }
  });
  return status;
}

void TaskRunner::join_network(const driver::NetworkIsolationSpec& network) {
  std::lock_guard lock(mutex_);
  network_ = network;
}

void TaskRunner::update(std::shared_ptr<const AllocSpec> spec, const v1::Task& task) {
  std::lock_guard lock(mutex_);
  spec_ = std::move(spec);
  task_ = task;
}

// --- Questions

v1::TaskState TaskRunner::state() const {
  std::lock_guard lock(mutex_);
  return stored_.state();
}

TaskView TaskRunner::view() const {
  std::lock_guard lock(mutex_);
  return {.name = name_,
          .hook = hook_,
          .sidecar = sidecar_,
          .leader = leader_,
          .progress = progress_,
          .failed = stored_.state().failed()};
}

bool TaskRunner::has_started() const {
  std::lock_guard lock(mutex_);
  return stored_.state().started_at() != 0;
}

v1::Task TaskRunner::current_task() const {
  std::lock_guard lock(mutex_);
  return task_;
}

v1::AllocatedTaskResources TaskRunner::given() const {
  std::lock_guard lock(mutex_);
  const auto& tasks = spec_->allocation.allocated_resources().tasks();
  const auto at = tasks.find(name_);
  return at == tasks.end() ? v1::AllocatedTaskResources() : at->second;
}

// --- The thread

template <typename Edit>
void TaskRunner::change(Edit&& edit) {
  {
    std::lock_guard lock(mutex_);
    edit();
  }
  persist();
  changed_callback_();
}

// The row that is written last is the newest, whoever writes it.
void TaskRunner::persist() {
  const std::lock_guard writing(persisting_);
  StoredTask copy;
  {
    std::lock_guard lock(mutex_);
    copy = stored_;
  }
  if (Status status = client_.store.put_task(alloc_id_, name_, copy); !status.ok()) {
    log::error("agent", "task state is not on disk", {{"task", name_}, {"error", status.message()}});
  }
}

template <typename Wake>
bool TaskRunner::wait_orders(std::optional<SteadyTime> until, Wake&& wake) {
  std::unique_lock lock(mutex_);
  if (!until) {
    orders_changed_.wait(lock, wake);
    return true;
  }
  return orders_changed_.wait_until(lock, *until, wake);
}

std::stop_token TaskRunner::arm() {
  std::lock_guard lock(mutex_);
  interrupt_ = std::stop_source();
  if (interrupted()) interrupt_.request_stop();
  return interrupt_.get_token();
}

TaskDriver* TaskRunner::find_driver(const std::string& driver) const {
  if (!client_.config.allows_driver(driver)) return nullptr;
  return agent::find_driver(client_.host, driver);
}

void TaskRunner::run() {
  ::pthread_setname_np(::pthread_self(), "task");
  Next next = Next::settle;
  switch (view().progress) {
    case Progress::running:
      next = reattach();
      break;
    case Progress::dead:
      break;
    default:
      next = await_permission();
  }
  while (next != Next::detached) {
    switch (next) {
      case Next::start:
        next = start();
        break;
      case Next::watch:
        next = watch();
        break;
      default:
        next = settle();
    }
  }
}

// Behind a driver that is late, or being restarted, the task may run on: started anew it would run twice.
Status TaskRunner::recover(const driver::TaskHandle& handle) {
  const SteadyTime end = client_.now() + kDriverPatience;
  while (true) {
    const std::string name = current_task().driver();
    TaskDriver* const driver = find_driver(name);
    {
      std::lock_guard lock(mutex_);
      driver_ = driver;
    }
    if (driver && client_.follow_events) client_.follow_events(name, *driver);
    Status status = driver ? open_logs() : unavailable("the driver " + name + " is not there");
    if (status.ok()) status = driver->recover_task(handle);
    const bool may_be_late = status.code() == Code::unavailable || status.code() == Code::deadline_exceeded;
    if (!may_be_late || client_.now() >= end) return status;
    if (wait_orders(client_.now() + kAskAgain, [&] { return orders_.detach || orders_.kill; })) return status;
  }
}

TaskRunner::Next TaskRunner::reattach() {
  const driver::TaskHandle handle = [&] {
    std::lock_guard lock(mutex_);
    return stored_.handle();
  }();
  const Status status = recover(handle);
  {
    std::lock_guard lock(mutex_);
    if (status.ok()) {
      running_ = true;
      return Next::watch;
    }
    if (orders_.detach) return Next::detached;
  }
  ended_ids_.push_back(handle.config().id());  // what there may be of it
  log::warn("agent", "task not recovered", {{"task", name_}, {"error", status.message()}});
  client_.devices.release(holder_);
  change([&] {
    stored_.clear_handle();
    progress_ = Progress::starting;
    event::append(*stored_.mutable_state(), event::failed_restore(client_.wall_ns(), status.message()));
  });
  return after_end({TaskEnd::Kind::failed});
}

TaskRunner::Next TaskRunner::await_permission() {
  wait_orders({}, [&] { return orders_.allowed || orders_.detach || orders_.kill || orders_.fail; });
  std::optional<Kill> kill;
  std::optional<v1::TaskEvent> fail;
  {
    std::lock_guard lock(mutex_);
    if (orders_.detach) return Next::detached;
    fail = std::move(orders_.fail);
    orders_.fail.reset();
    kill = orders_.kill;
  }
  if (fail) return fail_setup(*std::move(fail));
  return kill ? give_up(*kill) : Next::start;
}

// A kill while nothing of the task runs.
TaskRunner::Next TaskRunner::give_up(const Kill& kill) {
  change([&] {
    append_reason(kill);
    event::append(*stored_.mutable_state(), event::killing(client_.wall_ns(), {}, ""));
    event::append(*stored_.mutable_state(), event::killed(client_.wall_ns(), ""));
  });
  die(false);
  return Next::settle;
}

void TaskRunner::append_reason(const Kill& kill) {
  if (!kill.reason.type().empty()) event::append(*stored_.mutable_state(), kill.reason);
}

Status TaskRunner::open_logs() {
  const v1::Task task = current_task();
  if (task.log_config().disabled()) return ok_status();
  DROVER_RETURN_IF_ERROR(client_.logs.open(log_stream(dir_, task, "stdout")));
  return client_.logs.open(log_stream(dir_, task, "stderr"));
}

TaskRunner::Next TaskRunner::fail_setup(v1::TaskEvent event) {
  change([&] { event::append(*stored_.mutable_state(), std::move(event)); });
  die(true);
  return Next::settle;
}

// For a driver that makes the task's folder its root: the machine's programs and the shared folder have to be there.
Status TaskRunner::lock_in(const TaskDriver& driver) {
  if (driver.capabilities().fs_isolation() != driver::DriverCapabilities::CHROOT) return ok_status();
  const std::stop_token stop = arm();
  const bool is_filled = [&] {
    std::lock_guard lock(mutex_);
    return stored_.has_chroot();
  }();
  if (!is_filled) {
    DROVER_RETURN_IF_ERROR(build_chroot(dir_.task(name_), client_.config.chroot_env, {client_.config.alloc_dir}, stop));
    change([&] { stored_.set_has_chroot(true); });
  }
  return dir_.show_shared(name_);
}

TaskRunner::Next TaskRunner::start() {
  std::shared_ptr<const AllocSpec> spec;
  v1::Task task;
  {
    std::lock_guard lock(mutex_);
    spec = spec_;
    task = task_;
    progress_ = Progress::starting;
    event::append(*stored_.mutable_state(), event::setup(client_.wall_ns()));
  }
  const auto now = [&] { return client_.wall_ns(); };
  TaskDriver* driver = find_driver(task.driver());
  if (!driver)
    return fail_setup(
        event::setup_failure(now(), "failed to get driver \"" + task.driver() + "\": this node does not have it"));
  const v1::TaskGroup* group = spec->group();
  if (Status status = group ? check_supported(task, *group) : ok_status(); !status.ok()) {
    return fail_setup(event::setup_failure(now(), status.message()));
  }
  if (Status status = dir_.create_task(name_); !status.ok())
    return fail_setup(event::setup_failure(now(), status.message()));
  if (Status status = lock_in(*driver); !status.ok()) {
    if (std::lock_guard lock(mutex_); orders_.detach) return Next::detached;
    if (status.code() == Code::cancelled) return after_end({TaskEnd::Kind::start_failed});
    return fail_setup(event::setup_failure(now(), status.message()));
  }
  auto devices = client_.devices.reserve(holder_, given(), arm());
  if (!devices) {
    const Status& why = devices.status();
    if (std::lock_guard lock(mutex_); orders_.detach) return Next::detached;
    change([&] { event::append(*stored_.mutable_state(), event::hook_failed(now(), "devices", why.message())); });
    // Who holds them may have ended by then, and a plugin that is away be back.
    const bool may_help = why.code() == Code::unavailable || why.code() == Code::cancelled;
    return after_end({may_help ? TaskEnd::Kind::start_failed : TaskEnd::Kind::start_impossible});
  }
  const Next next = start_on(*driver, *spec, task, *devices);
  if (next != Next::watch) client_.devices.release(holder_);
  return next;
}

TaskRunner::Next TaskRunner::start_on(TaskDriver& driver, const AllocSpec& spec, const v1::Task& task,
                                      const device::ContainerReservation& devices) {
  const auto now = [&] { return client_.wall_ns(); };
  const auto network = [&] {
    std::lock_guard lock(mutex_);
    return network_;
  }();
  auto setup = set_up_task({.client = client_,
                            .spec = spec,
                            .task = task,
                            .dir = dir_,
                            .devices = devices,
                            .capabilities = driver.capabilities(),
                            .id = alloc_id_.to_string() + "/" + name_ + "/" + Uuid::random().short_string()});
  if (!setup) return fail_setup(event::failed_validation(now(), setup.status().message()));
  auto config = driver.encode_config(setup->config_json);
  if (!config && config.status().code() == Code::unavailable) {
    change([&] { event::append(*stored_.mutable_state(), event::driver_failure(now(), config.status().message())); });
    return after_end({TaskEnd::Kind::start_failed});
  }
  if (!config) return fail_setup(event::failed_validation(now(), config.status().message()));
  setup->config->set_msgpack_driver_config(*std::move(config));
  if (network) *setup->config->mutable_network_isolation_spec() = *network;
  if (Status status = open_logs(); !status.ok()) return fail_setup(event::setup_failure(now(), status.message()));

  {
    std::lock_guard lock(mutex_);
    starting_id_ = setup->config->id();
  }
  if (client_.follow_events) client_.follow_events(task.driver(), driver);
  auto started = driver.start_task(*setup->config);
  if (!started) {
    change([&] { event::append(*stored_.mutable_state(), event::driver_failure(now(), started.status().message())); });
    const bool may_help = started.status().code() == Code::failed_precondition;
    return after_end({may_help ? TaskEnd::Kind::start_failed : TaskEnd::Kind::start_impossible});
  }
  // The handle is on disk before anyone hears of the task: a crash from here on loses nothing.
  change([&] {
    driver_ = &driver;
    running_ = true;
    progress_ = Progress::running;
    *stored_.mutable_handle() = started->handle();
    if (stored_.handle().config().id().empty()) *stored_.mutable_handle()->mutable_config() = *setup->config;
    v1::TaskState& state = *stored_.mutable_state();
    state.set_state("running");
    state.set_started_at(now());
    event::append(state, event::started(now()));
  });
  return Next::watch;
}

TaskRunner::Next TaskRunner::watch() {
  const std::string id = [&] {
    std::lock_guard lock(mutex_);
    return stored_.handle().config().id();
  }();
  auto exit = driver_->wait_task(id, arm());
  if (!exit && exit.status().code() == Code::cancelled) {
    std::optional<Kill> kill;
    std::optional<std::string> restart;
    {
      std::lock_guard lock(mutex_);
      if (orders_.detach) {
        running_ = false;
        return Next::detached;
      }
      kill = orders_.kill;
      restart = std::exchange(orders_.restart, std::nullopt);
    }
    if (kill) {
      if (!end_task(*kill)) return Next::detached;
      die(false);
      return Next::settle;
    }
    if (!restart) return Next::watch;
    change([&] { event::append(*stored_.mutable_state(), event::restart_signaled(client_.wall_ns(), *restart)); });
    if (!end_task({})) return Next::detached;
    return after_end({TaskEnd::Kind::asked_to_restart});
  }
  const Code code = exit.status().code();
  if (code == Code::unavailable || code == Code::resource_exhausted) {
    // Of the driver and not of the task: it may be stopping, or have too much to do.
    wait_orders(client_.now() + kAskAgain, [&] { return interrupted(); });
    return Next::watch;
  }
  process_ended(id);
  event::Exit shown{-1, 0, false, exit.status().message()};
  if (exit) shown = {exit->exit_code(), exit->signal(), exit->oom_killed(), ""};
  if (shown.oom_killed) client_.host.metrics().add("nomad.client.allocs.oom_killed");
  {
    // Stored together with what follows from it.
    std::lock_guard lock(mutex_);
    event::append(*stored_.mutable_state(), event::terminated(client_.wall_ns(), shown));
  }
  const bool success = exit && shown.code == 0 && shown.signal == 0;
  return after_end({success ? TaskEnd::Kind::succeeded : TaskEnd::Kind::failed});
}

// What it printed is in the files before its end is told.
void TaskRunner::process_ended(const std::string& id) {
  v1::Task task;
  {
    std::lock_guard lock(mutex_);
    task = task_;
    running_ = false;
    stored_.clear_handle();
  }
  ended_ids_.push_back(id);
  client_.devices.release(holder_);
  client_.logs.drain(log_stream(dir_, task, "stdout"));
  client_.logs.drain(log_stream(dir_, task, "stderr"));
}

// After the decision about the task's end is on disk: the driver's record of it is needed until then.
void TaskRunner::release() {
  for (const std::string& id : std::exchange(ended_ids_, {})) {
    if (!driver_) continue;
    if (Status status = driver_->destroy_task(id, true); !status.ok() && status.code() != Code::not_found) {
      log::warn("agent", "task not destroyed", {{"task", name_}, {"error", status.message()}});
    }
  }
}

bool TaskRunner::end_task(const Kill& kill) {
  std::string id, signal_name;
  std::chrono::nanoseconds timeout{};
  {
    std::lock_guard lock(mutex_);
    id = stored_.handle().config().id();
    signal_name = task_.kill_signal();
    timeout = std::chrono::nanoseconds(task_.has_kill_timeout() ? task_.kill_timeout() : 5'000'000'000);
  }
  timeout = std::min(timeout, client_.config.max_kill_timeout);
  if (kill.timeout_cap) timeout = std::min(timeout, *kill.timeout_cap);
  if (kill.delay.count() > 0) {
    change([&] { event::append(*stored_.mutable_state(), event::shutdown_delay(client_.wall_ns(), kill.delay)); });
    if (wait_orders(client_.now() + kill.delay, [&] { return orders_.detach; })) return false;
  }
  change([&] {
    append_reason(kill);
    event::append(*stored_.mutable_state(), event::killing(client_.wall_ns(), timeout, ""));
  });
  Status stopped = driver_->stop_task(id, timeout, signal_name);
  std::chrono::seconds pause = kAskAgain;  // for a driver that is being restarted
  for (int tries = 1; tries < kStopTries && stopped.code() == Code::unavailable; ++tries, pause *= 2) {
    if (wait_orders(client_.now() + pause, [&] { return orders_.detach; })) return false;
    stopped = driver_->stop_task(id, timeout, signal_name);
  }
  if (stopped.code() == Code::not_found) stopped = ok_status();
  event::Exit shown{-1, 0, false, "the result is not known"};
  if (stopped.ok()) {
    // All of it is gone: the answer is there.
    if (auto exit = driver_->wait_task(id, {}); exit) {
      shown = {exit->exit_code(), exit->signal(), exit->oom_killed(), ""};
    } else {
      shown.message += ": " + exit.status().message();
    }
  }
  process_ended(id);
  std::lock_guard lock(mutex_);
  event::append(*stored_.mutable_state(), event::terminated(client_.wall_ns(), shown));
  event::append(*stored_.mutable_state(), event::killed(client_.wall_ns(), stopped.message()));
  return true;
}

TaskRunner::Next TaskRunner::after_end(TaskEnd end) {
  std::optional<Kill> kill;
  RestartDecision decision;
  {
    std::lock_guard lock(mutex_);
    const v1::TaskGroup* group = spec_->group();
    const v1::RestartPolicy& policy =
        task_.has_restart_policy() || !group ? task_.restart_policy() : group->restart_policy();
    const RestartRule rule = restart_rule(policy, is_long_running(task_, spec_->job.type()));
    decision = decide_restart(rule, {stored_.restart_count(), stored_.restart_window_began()}, end, client_.wall_ns(),
                              chance());
    kill = orders_.kill;
    orders_.restart.reset();
  }
  if (kill) {
    // It ended by itself while being told to.
    change([&] { append_reason(*kill); });
    die(end.kind == TaskEnd::Kind::start_impossible);
    return Next::settle;
  }
  if (decision.action != RestartDecision::Action::restart) {
    const bool failed = decision.action == RestartDecision::Action::fail;
    if (failed) {
      std::lock_guard lock(mutex_);
      event::append(*stored_.mutable_state(), event::not_restarting(client_.wall_ns(), decision.reason));
    }
    die(failed);
    return Next::settle;
  }
  client_.host.metrics().add("nomad.client.allocs.restart");
  change([&] {
    stored_.set_restart_count(decision.history.count);
    stored_.set_restart_window_began(decision.history.window_began);
    progress_ = Progress::starting;
    v1::TaskState& state = *stored_.mutable_state();
    state.set_state("pending");
    state.set_restarts(state.restarts() + 1);
    state.set_last_restart(client_.wall_ns());
    event::append(state, event::restarting(client_.wall_ns(), decision.delay, decision.reason));
  });
  release();
  wait_orders(client_.now() + decision.delay, [&] { return orders_.detach || orders_.kill; });
  {
    std::lock_guard lock(mutex_);
    if (orders_.detach) return Next::detached;
    if (!orders_.kill) return Next::start;
    kill = orders_.kill;
  }
  return give_up(*kill);
}

void TaskRunner::die(bool failed) {
  const v1::Task task = current_task();
  if (is_plain_name(name_)) {
    client_.logs.close(log_stream(dir_, task, "stdout"));
    client_.logs.close(log_stream(dir_, task, "stderr"));
  }
  change([&] {
    progress_ = Progress::dead;
    stored_.clear_handle();
    v1::TaskState& state = *stored_.mutable_state();
    state.set_state("dead");
    state.set_finished_at(client_.wall_ns());
    if (failed) state.set_failed(true);
  });
  release();
}

TaskRunner::Next TaskRunner::settle() {
  wait_orders({}, [&] { return orders_.detach || orders_.revive; });
  std::string reason;
  {
    std::lock_guard lock(mutex_);
    if (orders_.detach) return Next::detached;
    reason = *std::move(orders_.revive);
    orders_ = {};
  }
  change([&] {
    progress_ = Progress::waiting;
    v1::TaskState& state = *stored_.mutable_state();
    state.set_state("pending");
    state.set_failed(false);
    state.set_finished_at(0);
    state.set_restarts(state.restarts() + 1);
    state.set_last_restart(client_.wall_ns());
    event::append(state, event::restart_signaled(client_.wall_ns(), reason));
  });
  return await_permission();
}

}  // namespace drover::agent
