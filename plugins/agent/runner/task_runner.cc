#include "task_runner.h"

#include "driver_lookup.h"
#include "drover/log.h"
#include "hooks/alloc_dir.h"
#include "task_events.h"

namespace drover::agent {
namespace {

using Progress = TaskView::Progress;

}  // namespace

TaskRunner::TaskRunner(const Client& client, Strand& strand, const AllocFolders& folders, AllocSpecPtr spec,
                       const v1::Task& task, const StoredTask* stored, std::function<void()> changed)
    : client_(client),
      strand_(strand),
      alloc_folders_(folders),
      alloc_id_(Uuid::from_bytes(spec->allocation->id())),
      name_(task.name()),
      folders_(task_folders(folders, name_)),
      changed_callback_(std::move(changed)),
      stage_(task_stage(task)),
      sidecar_(task.lifecycle().sidecar()),
      leader_(task.leader()),
      spec_(std::move(spec)),
      stored_(stored ? *stored : StoredTask()),
      wakeup_(strand),
      hooks_(client.hooks, *this, *this) {
  if (!stored) {
    stored_.mutable_state()->set_state("pending");
    event::append(*stored_.mutable_state(), event::received(client_.wall_ns()));
  } else if (stored_.state().state() == "dead") {
    progress_ = Progress::dead;
  } else if (stored_.has_handle()) {
    progress_ = Progress::running;
  } else if (had_turn()) {
    // It had its turn and was about to be started again.
    progress_ = Progress::starting;
    orders_.allowed = true;
  }
}

// --- Orders

void TaskRunner::order(const std::function<void(Orders&)>& give) {
  std::stop_source interrupt;
  {
    MutexLock lock(mutex_);
    give(orders_);
    if (interrupted()) interrupt = interrupt_;
  }
  wakeup_.wake();
  interrupt.request_stop();
}

void TaskRunner::allow_start() {
  order([](Orders& orders) { orders.allowed = true; });
}

void TaskRunner::kill(Kill kill) {
  order([&](Orders& orders) DROVER_REQUIRES(mutex_) {
    if (!orders.kill && progress_ != Progress::dead) orders.kill = std::move(kill);
  });
}

void TaskRunner::fail(v1::TaskEvent event) {
  order([&](Orders& orders) DROVER_REQUIRES(mutex_) {
    if (progress_ == Progress::waiting) {
      orders.fail = std::move(event);
    } else if (!orders.kill && progress_ != Progress::dead) {
      orders.kill = Kill{.reason = std::move(event), .fails = true};
    }
  });
}

void TaskRunner::detach() {
  order([](Orders& orders) { orders.detach = true; });
}

void TaskRunner::finish() {
  order([](Orders& orders) { orders.finish = true; });
}

void TaskRunner::revive(std::string reason) {
  order([&](Orders& orders) DROVER_REQUIRES(mutex_) {
    if (progress_ == Progress::dead) orders.revive = std::move(reason);
  });
}

Status TaskRunner::restart(std::string reason) { return order_restart({.reason = std::move(reason)}); }

Status TaskRunner::restart_failed(std::string reason) {
  return order_restart({.reason = std::move(reason), .as = TaskEnd::Kind::failed});
}

Status TaskRunner::order_restart(Restart restart) {
  Status status;
  order([&](Orders& orders) DROVER_REQUIRES(mutex_) {
    if (!running_ || orders.kill) {
      status = failed_precondition("Task not running");
    } else if (!orders.restart) {
      orders.restart = std::move(restart);
    }
  });
  return status;
}

void TaskRunner::join_network(const driver::NetworkIsolationSpec& network) {
  MutexLock lock(mutex_);
  network_ = network;
}

void TaskRunner::describe_network(const v1::NetworkStatus& status) {
  MutexLock lock(mutex_);
  network_status_ = status;
}

v1::NetworkStatus TaskRunner::network_status() const {
  MutexLock lock(mutex_);
  return network_status_;
}

driver::NetworkOverride TaskRunner::driver_network() const {
  MutexLock lock(mutex_);
  return stored_.network();
}

void TaskRunner::update(AllocSpecPtr spec) {
  if (!spec->task(name_)) return;
  order([&](Orders& orders) DROVER_REQUIRES(mutex_) {
    spec_ = std::move(spec);
    orders.update = running_;
  });
}

void TaskRunner::tell(v1::TaskEvent event) {
  change([&]() DROVER_REQUIRES(mutex_) { event::append(*stored_.mutable_state(), std::move(event)); });
}

// --- Questions

AllocSpecPtr TaskRunner::spec() const {
  MutexLock lock(mutex_);
  return spec_;
}

v1::TaskState TaskRunner::state() const {
  MutexLock lock(mutex_);
  return stored_.state();
}

TaskView TaskRunner::view() const {
  MutexLock lock(mutex_);
  return {.name = name_,
          .stage = stage_,
          .sidecar = sidecar_,
          .leader = leader_,
          .progress = progress_,
          .failed = stored_.state().failed()};
}

bool TaskRunner::has_started() const {
  MutexLock lock(mutex_);
  return stored_.state().started_at() != 0;
}

v1::Task TaskRunner::current_task() const { return *spec()->task(name_); }

// --- What is kept

// The row that is written last is the newest, whoever writes it.
Status TaskRunner::persist() {
  const MutexLock writing(persisting_);
  StoredTask copy;
  {
    MutexLock lock(mutex_);
    copy = stored_;
  }
  Status status = client_.store.put_task(alloc_id_, name_, copy);
  if (!status.ok()) log::error("agent", "task state is not on disk", {{"task", name_}, {"error", status.message()}});
  return status;
}

StoredHook TaskRunner::hook(const std::string& name) const {
  MutexLock lock(mutex_);
  const auto at = stored_.hooks().find(name);
  return at == stored_.hooks().end() ? StoredHook() : at->second;
}

Status TaskRunner::change_hook(const std::string& name, const std::function<void(StoredHook&)>& change) {
  {
    MutexLock lock(mutex_);
    change((*stored_.mutable_hooks())[name]);
  }
  return persist();
}

// --- The strand

std::stop_token TaskRunner::arm() {
  MutexLock lock(mutex_);
  interrupt_ = std::stop_source();
  if (interrupted()) interrupt_.request_stop();
  return interrupt_.get_token();
}

Async<bool> TaskRunner::wait_orders(std::optional<SteadyTime> until, std::function<bool()> wake) {
  while (true) {
    {
      MutexLock lock(mutex_);
      if (wake()) co_return true;
    }
    if (until && client_.now() >= *until) co_return false;
    co_await wakeup_.wait(until);
  }
}

TaskDriver* TaskRunner::find_driver(const std::string& driver) const {
  if (!client_.config.allows_driver(driver)) return nullptr;
  return agent::find_driver(client_.host, driver);
}

Async<> TaskRunner::run() {
  Next next = Next::settle;
  switch (view().progress) {
    case Progress::running:
      next = co_await reattach();
      break;
    case Progress::dead:
      break;
    default:
      next = co_await await_permission();
  }
  while (next != Next::detached && next != Next::finished) {
    switch (next) {
      case Next::start:
        next = co_await start();
        break;
      case Next::watch:
        next = co_await watch();
        break;
      default:
        next = co_await wait_when_dead();
    }
  }
  if (next == Next::detached) co_await call_hooks([](TaskHooks& hooks) { hooks.shutdown(); });
  has_returned_ = true;
  changed_callback_();
}

}  // namespace drover::agent
