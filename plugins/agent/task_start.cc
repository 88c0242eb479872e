// How a task comes to run: found again after a restart of the agent, or set up and started.
#include "chroot.h"
#include "drover/log.h"
#include "nomad/plugins/device.pb.h"
#include "nomad/plugins/driver.pb.h"
#include "task_events.h"
#include "task_runner.h"
#include "task_setup.h"

namespace drover::agent {
namespace {

using Progress = TaskView::Progress;
using namespace std::chrono_literals;

constexpr auto kDriverPatience = 60s;  // with a driver that has a task of ours and does not answer

}  // namespace

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

}  // namespace drover::agent
