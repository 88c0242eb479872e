#include "alloc_runner.h"

#include <pthread.h>

#include <algorithm>

#include "drover/log.h"
#include "drover/metrics.h"
#include "group_network.h"
#include "task_events.h"

namespace drover::agent {
namespace {

v1::ClientStatus to_client_status(AllocStatus status) {
  switch (status) {
    case AllocStatus::pending:
      return v1::CLIENT_STATUS_PENDING;
    case AllocStatus::running:
      return v1::CLIENT_STATUS_RUNNING;
    case AllocStatus::complete:
      return v1::CLIENT_STATUS_COMPLETE;
    case AllocStatus::failed:
      return v1::CLIENT_STATUS_FAILED;
  }
  return v1::CLIENT_STATUS_UNSPECIFIED;
}

bool wants_stop(const AllocSpec& spec) {
  return spec.allocation.desired_status() == v1::DESIRED_STATUS_STOP ||
         spec.allocation.desired_status() == v1::DESIRED_STATUS_EVICT;
}

const v1::Task* find_task(const v1::TaskGroup& group, const std::string& name) {
  for (const v1::Task& task : group.tasks()) {
    if (task.name() == name) return &task;
  }
  return nullptr;
}

v1::TaskEvent kill_event(const LifecycleDecision& decision, int64_t now) {
  using Reason = LifecycleDecision::KillReason;
  switch (decision.reason) {
    case Reason::sibling_failed:
      return event::sibling_failed(now, decision.failed_sibling);
    case Reason::leader_dead:
      return event::leader_dead(now);
    case Reason::main_dead:
      return event::main_dead(now);
    default:
      return {};
  }
}

}  // namespace

AllocRunner::AllocRunner(const Client& client, std::shared_ptr<const AllocSpec> spec,
                         std::vector<std::pair<std::string, StoredTask>> tasks, std::optional<StoredNetwork> network)
    : client_(client),
      id_(Uuid::from_bytes(spec->allocation.id())),
      dir_(client.config.alloc_dir, id_),
      restored_(!tasks.empty()),
      spec_(std::move(spec)),
      network_(std::move(network)) {
  flags_.stop = wants_stop(*spec_);
  if (!restored_ && spec_->allocation.client_status() == v1::CLIENT_STATUS_PENDING) told_ = AllocStatus::pending;
  make_runners(tasks);
}

AllocRunner::~AllocRunner() {
  if (thread_.joinable()) thread_.join();
}

void AllocRunner::make_runners(const std::vector<std::pair<std::string, StoredTask>>& stored) {
  const v1::TaskGroup* group = spec_->group();
  if (!group) {
    setup_error_ = "the job has no task group \"" + spec_->allocation.task_group() + "\"";
    return;
  }
  for (const v1::Task& task : group->tasks()) {
    auto at = std::ranges::find(stored, task.name(), &std::pair<std::string, StoredTask>::first);
    runners_.push_back(std::make_unique<TaskRunner>(
        client_, dir_, spec_, task, at == stored.end() ? nullptr : &at->second, [this] { note([](Flags&) {}); }));
  }
  if (runners_.empty()) setup_error_ = "the task group has no tasks";
}

void AllocRunner::begin() {
  thread_ = std::jthread([this] { run(); });
}

// --- Orders

void AllocRunner::note(const std::function<void(Flags&)>& change) {
  {
    std::lock_guard lock(mutex_);
    flags_.dirty = true;
    change(flags_);
  }
  changed_.notify_all();
}

void AllocRunner::update(std::shared_ptr<const AllocSpec> spec) {
  note([&](Flags& flags) {
    if (wants_stop(*spec)) flags.stop = true;
    flags.new_spec = true;
    spec_ = std::move(spec);
  });
}

void AllocRunner::stop(std::optional<std::chrono::nanoseconds> cap) {
  note([&](Flags& flags) {
    flags.stop = true;
    if (cap) flags.kill_cap = cap;
  });
}

void AllocRunner::destroy() {
  bool remove = false;
  note([&](Flags& flags) {
    remove = finished_ && terminal_ && !flags.destroy;  // else its thread does it, or has done it
    flags.stop = flags.destroy = true;
  });
  if (remove) remove_everything();
}

void AllocRunner::detach() {
  note([](Flags& flags) { flags.detach = true; });
}

Status AllocRunner::restart(const std::string& name) {
  if (!name.empty()) {
    TaskRunner* runner = find(name);
    if (!runner) return not_found("Could not find task runner for task: " + name);
    return runner->restart("User requested task to restart");
  }
  Status last = failed_precondition("Task not running");
  bool any = false;
  for (const auto& runner : runners_) {
    last = runner->restart("User requested running tasks to restart");
    any = any || last.ok();
  }
  return any ? ok_status() : last;
}

Status AllocRunner::restart_all() {
  if (is_terminal()) return failed_precondition("restart of an alloc that should not run");
  for (const auto& runner : runners_) {
    if (runner->view().progress == TaskView::Progress::dead) {
      runner->revive("User requested all tasks to restart");
    } else if (Status status = runner->restart("User requested all tasks to restart"); !status.ok()) {
      log::debug("agent", "task not restarted", {{"task", runner->name()}, {"reason", status.message()}});
    }
  }
  return ok_status();
}

Status AllocRunner::signal(const std::string& name, const std::string& signal) {
  if (!name.empty()) {
    TaskRunner* runner = find(name);
    if (!runner) return not_found("Could not find task runner for task: " + name);
    return runner->signal(signal);
  }
  Status worst;
  for (const auto& runner : runners_) {
    if (runner->view().progress != TaskView::Progress::running) continue;
    if (Status status = runner->signal(signal); !status.ok()) worst = status.with_context(runner->name());
  }
  return worst;
}

void AllocRunner::driver_event(const std::string& name, const std::string& driver,
                               const driver::DriverTaskEvent& event) {
  if (TaskRunner* runner = find(name)) runner->driver_event(driver, event);
}

// --- Questions

std::shared_ptr<const AllocSpec> AllocRunner::spec() const {
  std::lock_guard lock(mutex_);
  return spec_;
}

TaskRunner* AllocRunner::find(const std::string& name) const {
  for (const auto& runner : runners_) {
    if (runner->name() == name) return runner.get();
  }
  return nullptr;
}

const TaskRunner* AllocRunner::task(const std::string& name) const { return find(name); }

std::vector<const TaskRunner*> AllocRunner::tasks() const {
  std::vector<const TaskRunner*> out;
  for (const auto& runner : runners_) out.push_back(runner.get());
  return out;
}

std::vector<TaskView> AllocRunner::views() const {
  std::vector<TaskView> out;
  for (const auto& runner : runners_) out.push_back(runner->view());
  return out;
}

v1::ClientStatus AllocRunner::client_status() const {
  if (!setup_error_.empty()) return v1::CLIENT_STATUS_FAILED;
  return to_client_status(alloc_status(views()).status);
}

v1::Allocation AllocRunner::report() const {
  v1::Allocation out;
  out.set_id(id_.bytes());
  const StatusView status = alloc_status(views());
  out.set_client_status(to_client_status(status.status));
  out.set_client_description(std::string(status.description));
  if (!setup_error_.empty()) {
    out.set_client_status(v1::CLIENT_STATUS_FAILED);
    out.set_client_description(setup_error_);
  }
  for (const auto& runner : runners_) (*out.mutable_task_states())[runner->name()] = runner->state();
  const auto spec = this->spec();
  if (spec->allocation.allocated_resources().shared().networks_size() > 0) {
    const v1::NetworkResource& network = spec->allocation.allocated_resources().shared().networks(0);
    out.mutable_network_status()->set_interface_name(network.device());
    out.mutable_network_status()->set_address(network.ip());
    if (network.has_dns()) *out.mutable_network_status()->mutable_dns() = network.dns();
  }
  out.set_modify_time(client_.wall_ns());
  return out;
}

bool AllocRunner::is_terminal() const {
  std::lock_guard lock(mutex_);
  return terminal_;
}

bool AllocRunner::is_gone() const {
  std::lock_guard lock(mutex_);
  return gone_;
}

bool AllocRunner::wait_terminal(SteadyTime deadline) const {
  std::unique_lock lock(mutex_);
  return changed_.wait_until(lock, deadline, [&] { return terminal_; });
}

bool AllocRunner::wait_gone(SteadyTime deadline) const {
  std::unique_lock lock(mutex_);
  return changed_.wait_until(lock, deadline, [&] { return gone_; });
}

// --- The thread

void AllocRunner::run() {
  ::pthread_setname_np(::pthread_self(), "alloc");
  store_spec();
  if (Status status = prepare(); !status.ok()) {
    for (const auto& runner : runners_) runner->fail(event::setup_failure(client_.wall_ns(), status.message()));
  }
  for (const auto& runner : runners_) runner->begin();
  if (restored_) client_.changed(id_, false);
  bool is_done = false;
  while (!is_done) {
    Flags now;
    {
      std::unique_lock lock(mutex_);
      changed_.wait(lock, [&] { return flags_.dirty; });
      now = flags_;
      flags_.dirty = flags_.new_spec = false;
    }
    if (now.detach) break;
    if (now.new_spec) apply_update();
    const std::vector<TaskView> tasks = views();
    LifecycleDecision decision = decide_lifecycle(tasks, now.stop);
    carry_out(decision);
    tell_if_changed(tasks);
    {
      std::lock_guard lock(mutex_);
      terminal_ = is_done = decision.done;
    }
    changed_.notify_all();
  }
  // An allocation that has ended keeps no threads.
  for (const auto& runner : runners_) runner->detach();
  for (const auto& runner : runners_) runner->join();
  if (is_done && network_) leave_network();
  bool remove = false;
  {
    std::lock_guard lock(mutex_);
    finished_ = true;
    remove = flags_.destroy && terminal_;
  }
  changed_.notify_all();
  if (remove) remove_everything();
}

// What the tasks need of the machine, once: also after a restart of the agent, since the machine may have restarted.
Status AllocRunner::prepare() {
  DROVER_RETURN_IF_ERROR(dir_.create());
  const auto spec = this->spec();
  const v1::TaskGroup* group = spec->group();
  const std::vector<TaskView> tasks = views();
  const auto has_ended = [](const TaskView& task) { return task.progress == TaskView::Progress::dead; };
  if (!group || !has_own_network(*group) || wants_stop(*spec) || std::ranges::all_of(tasks, has_ended)) return {};
  auto network = network_ ? restore_network(client_, id_, *network_) : set_up_network(client_, id_, *group);
  if (!network) return network.status().with_context("network");
  network_ = *std::move(network);
  store_spec();  // before anybody is in it, so that it is torn down whatever happens
  for (const auto& runner : runners_) runner->join_network(network_->spec());
  return ok_status();
}

void AllocRunner::leave_network() {
  if (Status status = tear_down_network(client_, id_, *network_); !status.ok()) {
    log::warn("agent", "an allocation's network is not torn down, the agent's next start tries again",
              {{"alloc", id_.to_string()}, {"error", status.message()}});
    return;
  }
  network_.reset();
  store_spec();
}

void AllocRunner::remove_everything() {
  if (Status status = dir_.remove(); !status.ok()) {
    log::warn("agent", "allocation files not removed", {{"error", status.message()}});
  }
  if (Status status = client_.store.remove(id_); !status.ok()) {
    log::error("agent", "allocation rows not removed", {{"alloc", id_.to_string()}, {"error", status.message()}});
  }
  client_.host.metrics().add("nomad.client.allocs.destroy");
  {
    std::lock_guard lock(mutex_);
    gone_ = true;
  }
  changed_.notify_all();
}

void AllocRunner::store_spec() {
  StoredAllocation row;
  const auto spec = this->spec();
  *row.mutable_allocation() = spec->allocation;
  *row.mutable_job() = spec->job;
  if (network_) *row.mutable_network() = *network_;
  if (Status status = client_.store.put_allocation(id_, row); !status.ok()) {
    log::error("agent", "allocation is not on disk", {{"alloc", id_.to_string()}, {"error", status.message()}});
  }
}

void AllocRunner::apply_update() {
  store_spec();
  const auto spec = this->spec();
  const v1::TaskGroup* group = spec->group();
  if (!group) return;
  for (const auto& runner : runners_) {
    if (const v1::Task* task = find_task(*group, runner->name())) runner->update(spec, *task);
  }
}

void AllocRunner::carry_out(const LifecycleDecision& decision) {
  const auto spec = this->spec();
  const v1::TaskGroup* group = spec->group();
  std::optional<std::chrono::nanoseconds> cap;
  {
    std::lock_guard lock(mutex_);
    cap = flags_.kill_cap;
  }
  const bool delayed = decision.reason == LifecycleDecision::KillReason::stop && !cap &&
                       !spec->allocation.desired_transition().no_shutdown_delay();
  for (const std::string& name : decision.kill) {
    const v1::Task* task = group ? find_task(*group, name) : nullptr;
    TaskRunner::Kill kill{.reason = kill_event(decision, client_.wall_ns()), .timeout_cap = cap};
    if (delayed && task) kill.delay = std::chrono::nanoseconds(group->shutdown_delay() + task->shutdown_delay());
    find(name)->kill(std::move(kill));
  }
  for (const std::string& name : decision.start) find(name)->allow_start();
}

void AllocRunner::tell_if_changed(const std::vector<TaskView>& tasks) {
  const AllocStatus status = setup_error_.empty() ? alloc_status(tasks).status : AllocStatus::failed;
  const bool urgent = told_ != status;
  if (urgent) {
    log::info("agent", "allocation status",
              {{"alloc", id_.to_string()}, {"status", v1::ClientStatus_Name(to_client_status(status))}});
    const char* counter = status == AllocStatus::running    ? "nomad.client.allocs.running"
                          : status == AllocStatus::complete ? "nomad.client.allocs.complete"
                          : status == AllocStatus::failed   ? "nomad.client.allocs.failed"
                                                            : "nomad.client.allocs.start";
    client_.host.metrics().add(counter);
    told_ = status;
  }
  client_.changed(id_, urgent);
}

}  // namespace drover::agent
