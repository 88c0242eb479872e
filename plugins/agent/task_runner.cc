#include "task_runner.h"

#include <pthread.h>

#include "driver_lookup.h"
#include "drover/log.h"
#include "task_events.h"

namespace drover::agent {
namespace {

using Progress = TaskView::Progress;

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

}  // namespace drover::agent
