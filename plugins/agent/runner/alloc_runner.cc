#include "alloc_runner.h"

#include <algorithm>

#include "drover/log.h"
#include "drover/metrics.h"
#include "hooks/alloc_dir.h"
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

AllocRunner::AllocRunner(const Client& client, AllocSpecPtr spec, StoredRun stored)
    : client_(client),
      id_(Uuid::from_bytes(spec->allocation->id())),
      folders_(alloc_folders(client.config.alloc_dir, id_)),
      restored_(!stored.tasks.empty()),
      spec_(std::move(spec)),
      hooks_rows_(std::move(stored.hooks)),
      health_(std::move(stored.health)),
      strand_(client.pool),
      wakeup_(strand_),
      hooks_(client.hooks, *this, *this) {
  flags_.stop = wants_stop(*spec_);
  if (!restored_ && spec_->allocation->client_status() == v1::CLIENT_STATUS_PENDING) told_ = AllocStatus::pending;
  make_runners(stored.tasks);
}

AllocRunner::~AllocRunner() {
  detach();
  join();
}

void AllocRunner::make_runners(const std::vector<std::pair<std::string, StoredTask>>& stored) {
  const AllocSpecPtr spec = this->spec();
  if (!spec->group) {
    setup_error_ = "the job has no task group \"" + spec->allocation->task_group() + "\"";
    return;
  }
  for (const v1::Task& task : spec->group->tasks()) {
    auto at = std::ranges::find(stored, task.name(), &std::pair<std::string, StoredTask>::first);
    runners_.push_back(std::make_unique<TaskRunner>(client_, strand_, folders_, spec, task,
                                                    at == stored.end() ? nullptr : &at->second,
                                                    [this] { note([](Flags&) {}); }));
  }
  if (runners_.empty()) setup_error_ = "the task group has no tasks";
}

void AllocRunner::begin() { strand_.spawn(run()); }
void AllocRunner::join() { strand_.join(); }

// --- Orders

void AllocRunner::note(const std::function<void(Flags&)>& change) {
  std::stop_source interrupt(std::nostopstate);
  {
    MutexLock lock(mutex_);
    flags_.dirty = true;
    change(flags_);
    if (flags_.stop || flags_.detach) interrupt = interrupt_;
  }
  wakeup_.wake();
  interrupt.request_stop();
}

bool AllocRunner::has_orders() const {
  MutexLock lock(mutex_);
  return flags_.dirty;
}

void AllocRunner::update(AllocSpecPtr spec) {
  note([&](Flags& flags) DROVER_REQUIRES(mutex_) {
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
  note([this](Flags& flags) DROVER_REQUIRES(mutex_) {
    flags.stop = flags.destroy = true;
    removal_ = ok_status();
  });
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
  note([](Flags& flags) { flags.restart_all = true; });
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

void AllocRunner::reconnected() {
  for (const auto& runner : runners_) {
    if (runner->view().progress == TaskView::Progress::running) runner->tell(event::reconnected(client_.wall_ns()));
  }
  client_.changed(id_, /*urgent=*/true);
}

void AllocRunner::driver_event(const std::string& name, const std::string& driver,
                               const driver::DriverTaskEvent& event) {
  if (TaskRunner* runner = find(name)) runner->driver_event(driver, event);
}

// --- Questions

AllocSpecPtr AllocRunner::spec() const {
  MutexLock lock(mutex_);
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
  {
    MutexLock lock(mutex_);
    if (network_status_) *out.mutable_network_status() = *network_status_;
    if (auto health = health_.report(*spec)) *out.mutable_deployment_status() = *std::move(health);
  }
  out.set_modify_time(client_.wall_ns());
  return out;
}

bool AllocRunner::is_terminal() const {
  MutexLock lock(mutex_);
  return terminal_;
}

bool AllocRunner::is_gone() const {
  MutexLock lock(mutex_);
  return gone_;
}

bool AllocRunner::wait_terminal(SteadyTime deadline, std::stop_token stop) const {
  MutexLock lock(mutex_);
  return changed_.wait_until(lock, std::move(stop), deadline, [&]() DROVER_REQUIRES(mutex_) { return terminal_; });
}

bool AllocRunner::wait_gone(SteadyTime deadline) const {
  MutexLock lock(mutex_);
  return changed_.wait_until(lock, deadline, [&]() DROVER_REQUIRES(mutex_) { return gone_; });
}

Status AllocRunner::wait_removed(SteadyTime deadline) const {
  MutexLock lock(mutex_);
  changed_.wait_until(lock, deadline, [&]() DROVER_REQUIRES(mutex_) { return gone_ || !removal_.ok(); });
  if (gone_) return ok_status();
  return removal_.ok() ? deadline_exceeded("the allocation's files are still being removed") : removal_;
}

bool AllocRunner::is_left_behind() const {
  MutexLock lock(mutex_);
  return !removal_.ok();
}

// --- For the hooks

void AllocRunner::share_network(const driver::NetworkIsolationSpec& network) {
  {
    MutexLock lock(mutex_);
    network_ = network;
  }
  for (const auto& runner : runners_) runner->join_network(network);
}

std::optional<driver::NetworkIsolationSpec> AllocRunner::shared_network() const {
  MutexLock lock(mutex_);
  return network_;
}

void AllocRunner::describe_network(const v1::NetworkStatus& status) {
  {
    MutexLock lock(mutex_);
    network_status_ = status;
  }
  for (const auto& runner : runners_) runner->describe_network(status);
}

v1::NetworkStatus AllocRunner::network_status() const {
  MutexLock lock(mutex_);
  return network_status_.value_or(v1::NetworkStatus());
}

void AllocRunner::tell(const v1::TaskEvent& event) {
  for (const auto& runner : runners_) runner->tell(event);
  client_.changed(id_, false);  // nobody looks at the tasks before they may start
}

StoredHook AllocRunner::hook(const std::string& name) const {
  MutexLock lock(mutex_);
  const auto at = hooks_rows_.find(name);
  return at == hooks_rows_.end() ? StoredHook() : at->second;
}

Status AllocRunner::change_hook(const std::string& name, const std::function<void(StoredHook&)>& change) {
  {
    MutexLock lock(mutex_);
    change(hooks_rows_[name]);
  }
  return store_spec();
}

// The row that is written last is the newest, whoever writes it.
Status AllocRunner::store_spec() {
  const MutexLock writing(persisting_);
  StoredAllocation row;
  {
    MutexLock lock(mutex_);
    *row.mutable_allocation() = *spec_->allocation;
    *row.mutable_job() = *spec_->job;
    row.mutable_hooks()->insert(hooks_rows_.begin(), hooks_rows_.end());
    *row.mutable_health() = health_.stored();
  }
  Status status = client_.store.put_allocation(id_, row);
  if (!status.ok())
    log::error("agent", "allocation is not on disk", {{"alloc", id_.to_string()}, {"error", status.message()}});
  return status;
}

// --- The strand

template <typename Call>
Async<> AllocRunner::call_hooks(Call call) {
  const auto work = [this, call] { return call(hooks_), true; };
  co_await strand_.borrow(work);
}

Async<> AllocRunner::run() {
  (void)store_spec();  // logged
  const Status ready = co_await prerun();
  if (!ready.ok()) {
    const std::string why = "failed to setup alloc: " + ready.message();
    for (const auto& runner : runners_) runner->fail(event::setup_failure(client_.wall_ns(), why));
  }
  for (const auto& runner : runners_) strand_.spawn(runner->run());
  if (restored_) client_.changed(id_, false);
  co_await run_tasks();
  if (is_terminal()) {
    co_await call_hooks([](AllocHooks& hooks) { hooks.postrun(); });
    co_await await_destruction();
  } else {
    co_await call_hooks([](AllocHooks& hooks) { hooks.shutdown(); });
  }
}

// Until every task is dead and has returned, or was left as it is.
Async<> AllocRunner::run_tasks() {
  bool is_over = false;
  while (!is_over) {
    Flags now;
    {
      MutexLock lock(mutex_);
      now = flags_;
      flags_.dirty = flags_.new_spec = flags_.restart_all = false;
    }
    if (now.detach) {
      for (const auto& runner : runners_) runner->detach();
      break;
    }
    if (now.new_spec) co_await apply_update();
    if (now.restart_all && !now.stop) co_await restart_tasks();
    const std::vector<TaskView> tasks = views();
    const LifecycleDecision decision = decide_lifecycle(tasks, now.stop);
    is_over = decision.done;
    co_await carry_out(decision);
    // Tasks that are being stopped say nothing about health.
    const auto next_look = now.stop ? std::nullopt : look_at_health();
    tell_if_changed(tasks);
    // An order that came while a hook was called woke nobody.
    if (!is_over && !has_orders()) co_await wakeup_.wait(next_look);
  }
  if (is_over) {
    for (const auto& runner : runners_) runner->finish();
  }
  while (!std::ranges::all_of(runners_, [](const auto& runner) { return runner->has_returned(); }))
    co_await wakeup_.wait();
  {
    MutexLock lock(mutex_);
    terminal_ = is_over;
  }
  changed_.notify_all();
}

// Prepares what the tasks need, once: also after a restart of the agent, since the machine may have restarted.
Async<Status> AllocRunner::prerun() {
  const std::vector<TaskView> tasks = views();
  const auto has_ended = [](const TaskView& task) { return task.progress == TaskView::Progress::dead; };
  if (std::ranges::all_of(tasks, has_ended) || (!restored_ && wants_stop(*spec()))) co_return ok_status();
  std::stop_token stop;
  {
    MutexLock lock(mutex_);
    // A restored one that is to stop has to know what its tasks have, until they have ended.
    if (!restored_ || !flags_.stop) stop = interrupt_.get_token();
  }
  const auto work = [this, stop] { return hooks_.prerun(stop); };
  co_return co_await strand_.borrow(work);
}

Async<> AllocRunner::apply_update() {
  (void)store_spec();  // logged
  const AllocSpecPtr spec = this->spec();
  for (const auto& runner : runners_) runner->update(spec);
  co_await call_hooks([](AllocHooks& hooks) { hooks.update(); });
}

Async<> AllocRunner::restart_tasks() {
  std::stop_token stop;
  {
    MutexLock lock(mutex_);
    stop = interrupt_.get_token();
  }
  const auto work = [this, stop] { return hooks_.prerestart(stop), true; };
  co_await strand_.borrow(work);
  for (const auto& runner : runners_) {
    if (runner->view().progress == TaskView::Progress::dead) {
      runner->revive("User requested all tasks to restart");
    } else if (Status status = runner->restart("User requested all tasks to restart"); !status.ok()) {
      log::debug("agent", "task not restarted", {{"task", runner->name()}, {"reason", status.message()}});
    }
  }
}

Async<> AllocRunner::carry_out(LifecycleDecision decision) {
  const AllocSpecPtr spec = this->spec();
  std::optional<std::chrono::nanoseconds> cap;
  {
    MutexLock lock(mutex_);
    cap = flags_.kill_cap;
  }
  const bool is_stop = decision.reason == LifecycleDecision::KillReason::stop;
  if (is_stop && !decision.kill.empty() && !std::exchange(is_prekilled_, true))
    co_await call_hooks([](AllocHooks& hooks) { hooks.prekill(); });
  const bool delayed = is_stop && !cap && !spec->allocation->desired_transition().no_shutdown_delay();
  for (const std::string& name : decision.kill) {
    const v1::Task* task = spec->task(name);
    TaskRunner::Kill kill{.reason = kill_event(decision, client_.wall_ns()), .timeout_cap = cap};
    if (delayed && task) kill.delay = std::chrono::nanoseconds(spec->group->shutdown_delay() + task->shutdown_delay());
    find(name)->kill(std::move(kill));
  }
  for (const std::string& name : decision.start) find(name)->allow_start();
}

Async<> AllocRunner::await_destruction() {
  while (true) {
    Flags now;
    {
      MutexLock lock(mutex_);
      now = flags_;
      flags_.destroy = false;
    }
    if (now.destroy) {
      const auto work = [this] { return remove_everything(); };
      if (co_await strand_.borrow(work)) co_return;
      continue;  // an order may have come meanwhile
    }
    if (now.detach) co_return;
    co_await wakeup_.wait();
  }
}

bool AllocRunner::remove_everything() {
  Status status = hooks_.destroy();
  if (status.ok()) {
    status = client_.store.remove(id_);
    if (!status.ok()) {
      log::error("agent", "allocation rows not removed", {{"alloc", id_.to_string()}, {"error", status.message()}});
    }
    client_.host.metrics().add("nomad.client.allocs.destroy");
    status = ok_status();
  }
  const bool is_removed = status.ok();
  {
    MutexLock lock(mutex_);
    gone_ = is_removed;
    removal_ = std::move(status);
  }
  changed_.notify_all();
  return is_removed;
}

void AllocRunner::tell_why_unhealthy(const AllocSpec& spec, const HealthFacts& facts, int64_t began) {
  const auto rule = health_rule(spec);
  for (size_t i = 0; rule && i < facts.tasks.size(); ++i) {
    std::string why = unhealthy_reason(*rule, facts.tasks[i], began);
    for (const PartHealth& part : facts.parts) {
      if (why.empty() && rule->asks_hooks) why = unhealthy_reason(part, runners_[i]->name());
    }
    if (!why.empty()) runners_[i]->tell(event::unhealthy(client_.wall_ns(), why));
  }
}

std::optional<SteadyTime> AllocRunner::look_at_health() {
  DROVER_ASSERT_ON(strand_);
  const AllocSpecPtr spec = this->spec();
  HealthFacts facts{.tasks = {}, .parts = hooks_.health()};
  for (const auto& runner : runners_) {
    const TaskView view = runner->view();
    facts.tasks.push_back({.stage = view.stage, .sidecar = view.sidecar, .state = runner->state()});
  }
  const int64_t now = client_.wall_ns();
  bool is_changed = false;
  std::optional<bool> healthy;
  int64_t next = 0, began = 0;
  {
    MutexLock lock(mutex_);
    is_changed = health_.look(*spec, facts, now);
    if (health_.stored().has_healthy()) healthy = health_.stored().healthy();
    next = health_.next();
    began = health_.stored().began();
  }
  if (is_changed) {
    (void)store_spec();  // logged
    if (healthy) {
      log::info("agent", "allocation health", {{"alloc", id_.to_string()}, {"healthy", *healthy}});
      if (!*healthy) tell_why_unhealthy(*spec, facts, began);
      client_.changed(id_, true);
    }
  }
  if (next == 0) return std::nullopt;
  return client_.now() + std::chrono::nanoseconds(next - now);
}

void AllocRunner::tell_if_changed(const std::vector<TaskView>& tasks) {
  DROVER_ASSERT_ON(strand_);
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
