#include "alloc_checks.h"

#include "drover/log.h"
#include "drover/node_calls.h"
#include "drover/v1/allocation.pb.h"
#include "drover/v1/service.pb.h"

#include "checks_state.pb.h"
#include "drover/api/client_checks.pb.h"
#include "drover/v1/check_provider.pb.h"

namespace drover::checks {
namespace {

constexpr int64_t kSecond = 1'000'000'000;
constexpr auto kLookEvery = std::chrono::seconds(1);  // at what a registry says of its checks

CheckState restored(const StoredResult& row) {
  CheckState state;
  const auto outcome = outcome_of(row.status());
  if (!outcome) return state;
  state.outcome = *outcome;
  state.code = row.code();
  state.output = row.output();
  state.timestamp = row.timestamp();
  state.good_since = row.good_since();
  return state;
}

StoredResult stored(const CheckState& state) {
  StoredResult row;
  row.set_status(std::string(text_of(state.outcome)));
  row.set_code(state.code);
  row.set_output(state.output);
  row.set_timestamp(state.timestamp);
  row.set_good_since(state.good_since);
  return row;
}

v1::RunCheckRequest request_of(const ObservedCheck& what, const AllocSpec& spec) {
  v1::RunCheckRequest request;
  request.set_type(what.check->type());
  request.set_check_id(what.id);
  request.set_service(what.service);
  request.set_address(what.address);
  request.set_port(what.port);
  request.set_namespace_(spec.allocation->namespace_());
  request.set_job_id(spec.allocation->job_id());
  request.set_group(spec.allocation->task_group());
  request.set_alloc_id(Uuid::from_bytes(spec.allocation->id()).to_string());
  request.set_task(what.task);
  request.mutable_timeout()->set_seconds(what.timeout.count() / kSecond);
  request.mutable_timeout()->set_nanos(static_cast<int32_t>(what.timeout.count() % kSecond));
  return request;
}

// A run of a check that a provider makes.
struct ProviderRun {
  const Providers& providers;
  v1::RunCheckRequest request;
  std::shared_ptr<const v1::ServiceCheck> check;

  Result<std::pair<CheckProvider*, v1::RunCheckRequest>> prepare() const {
    const Providers::Found found = providers.find(request.type());
    if (!found.provider)
      return unavailable("no plugin of this node runs checks of the type \"" + request.type() + "\"");
    DROVER_TRY(std::string options, encode_options(*check, *found.type));
    v1::RunCheckRequest full = request;
    full.set_options(std::move(options));
    return std::pair(found.provider, std::move(full));
  }
  bool begin(std::stop_token stop, const CheckProvider::Told& told) const {
    const auto ready = prepare();
    if (!ready) return told(ready.status()), true;
    return ready->first->begin(ready->second, std::move(stop), told);
  }
  Result<v1::CheckResult> run(std::stop_token stop) const {
    DROVER_TRY(const auto ready, prepare());
    return ready.first->run(ready.second, std::move(stop));
  }
};

}  // namespace

Variables Node::variables() const {
  const NodeCalls* calls = host.extension<NodeCalls>("agent");
  return calls ? calls->variables() : Variables();
}

RegistryChecks* Node::registry(const std::string& provider) const { return host.extension<RegistryChecks>(provider); }

// --- The allocation's hook

void AllocChecks::open(HookedAlloc& alloc) {
  const MutexLock lock(mutex_);
  alloc_ = &alloc;
}

void AllocChecks::close() {
  const MutexLock changing(changing_);
  std::vector<uint64_t> numbers;
  {
    MutexLock lock(mutex_);
    for (auto& [id, check] : checks_) numbers.push_back(std::exchange(check.number, 0));
    alloc_ = nullptr;
    told_.wait(lock, [this]() DROVER_REQUIRES(mutex_) { return telling_ == 0; });
  }
  for (const uint64_t number : numbers) node_.engine.remove(number);
}

void AllocChecks::prerun() {
  {
    const MutexLock lock(mutex_);
    if (is_over_) return;
    is_observing_ = true;
  }
  observe_all();
}

void AllocChecks::update() {
  {
    const MutexLock lock(mutex_);
    if (!is_observing_ || is_over_) return;
  }
  observe_all();
  tell_health();
}

void AllocChecks::purge() {
  const MutexLock changing(changing_);
  std::map<std::string, Check> gone;
  {
    const MutexLock lock(mutex_);
    is_over_ = true;
    gone.swap(checks_);
  }
  for (const auto& [id, check] : gone) node_.engine.remove(check.number);
  store();
}

// Finds out which checks there are, keeps what is known of those that stay, and has the new ones run. A check that
// stays keeps its turn, too, unless its address or its options are others.
void AllocChecks::observe_all() {
  const MutexLock changing(changing_);
  const HookedAlloc* alloc = nullptr;
  bool is_first = false;
  {
    const MutexLock lock(mutex_);
    if (is_over_ || !alloc_) return;
    alloc = alloc_;
    is_first = checks_.empty();
  }
  // It is here as long as its hooks are called.
  const AllocSpecPtr spec = alloc->spec();
  const v1::NetworkStatus network = alloc->network_status();
  const Variables node = node_.variables();
  const StoredResults before = is_first ? load() : StoredResults();
  const RunsRemotely runs_remotely = [this](const std::string& provider, const std::string& type) {
    const RegistryChecks* registry = node_.registry(provider);
    return registry && registry->runs(type);
  };
  std::vector<ObservedCheck> found = observe(
      {.spec = *spec, .network = &network, .node = node, .runs_remotely = runs_remotely});
  std::map<std::string, Check> old;
  {
    const MutexLock lock(mutex_);
    spec_ = spec;
    old.swap(checks_);
    for (ObservedCheck& what : found) {
      Check check{.what = std::move(what), .state = {}, .watch = {}};
      const std::string id = check.what.id;
      if (const auto at = old.find(id); at != old.end()) {
        check.state = at->second.state;
        check.watch = at->second.watch;
        if (runs_alike(check.what, at->second.what)) check.number = std::exchange(at->second.number, 0);
      } else if (const auto row = before.results().find(id); row != before.results().end()) {
        check.state = restored(row->second);
      }
      // Watched for restarts from now on; those of a task from its start.
      if (check.what.task.empty() && !check.watch.has_begun()) check.watch.begin(node_.now());
      checks_.insert_or_assign(id, std::move(check));
    }
  }
  for (const auto& [id, check] : old) node_.engine.remove(check.number);
  begin_all();
  if (!old.empty() || !before.results().empty()) node_.status_changed();
}

// Has those run that do not and are not to pause. Requires: changing_ is held.
void AllocChecks::begin_all() {
  std::map<std::string, EngineCheck> idle;
  {
    const MutexLock lock(mutex_);
    for (auto& [id, check] : checks_) {
      if (check.number != 0 || paused_.contains(check.what.task)) continue;
      if (check.what.problem.empty()) {
        idle.emplace(id, engine_check(check.what, *spec_));
      } else {
        take_error(check.state, check.what.problem);
      }
    }
  }
  for (auto& [id, check] : idle) {
    const uint64_t number = node_.engine.add(std::move(check));
    const MutexLock lock(mutex_);
    checks_.at(id).number = number;
  }
}

EngineCheck AllocChecks::engine_check(const ObservedCheck& what, const AllocSpec& spec) {
  EngineCheck out{.interval = what.interval, .timeout = what.timeout};
  out.answered = [self = weak_from_this(), id = what.id](EngineCheck::Result result) {
    if (const auto checks = self.lock()) checks->answered(id, std::move(result));
  };
  if (what.is_remote) {
    out.interval = out.timeout = kLookEvery;
    out.begin = [registry = node_.registry(what.provider), check = what.registry_id](
                    std::stop_token, const CheckProvider::Told& told) { return told(registry->result(check)), true; };
    out.run = [](std::stop_token) -> EngineCheck::Result { return unavailable("the registry runs it"); };
    return out;
  }
  if (what.check->type() == kScript) {
    std::vector<std::string> command{what.check->command()};
    command.insert(command.end(), what.check->args().begin(), what.check->args().end());
    out.begin = [](std::stop_token, const CheckProvider::Told&) { return false; };
    out.run = [self = weak_from_this(), task = what.inside, command](std::stop_token stop) -> EngineCheck::Result {
      const auto checks = self.lock();
      const auto port = checks ? checks->port(task) : nullptr;
      if (!port) return failed_precondition("the allocation has no task \"" + task + "\"");
      return port->run_script(command, std::move(stop));
    };
    return out;
  }
  const auto run = std::make_shared<const ProviderRun>(
      ProviderRun{.providers = node_.providers, .request = request_of(what, spec), .check = what.check});
  out.begin = [run](std::stop_token stop, const CheckProvider::Told& told) {
    return run->begin(std::move(stop), told);
  };
  out.run = [run](std::stop_token stop) { return run->run(std::move(stop)); };
  return out;
}

// --- The hooks of its tasks

void AllocChecks::open_task(HookedTask& task) {
  const MutexLock lock(mutex_);
  tasks_[task.name()] = std::make_shared<TaskPort>(task);
}

void AllocChecks::close_task(const std::string& task) {
  std::shared_ptr<TaskPort> port;
  {
    const MutexLock lock(mutex_);
    port = std::move(tasks_[task]);
    tasks_.erase(task);
  }
  if (port) port->close();
}

std::shared_ptr<TaskPort> AllocChecks::port(const std::string& task) const {
  const MutexLock lock(mutex_);
  const auto at = tasks_.find(task);
  return at == tasks_.end() ? nullptr : at->second;
}

void AllocChecks::resume(const std::string& task) {
  const MutexLock changing(changing_);
  {
    const MutexLock lock(mutex_);
    if (paused_.erase(task) == 0 || is_over_) return;
  }
  begin_all();
}

// Grace begins for all checks that would have this task restarted, those of the group's services, too: they have gone
// on while it was away.
void AllocChecks::started(const std::string& task) {
  const MutexLock lock(mutex_);
  running_.insert(task);
  for (auto& [id, check] : checks_) {
    if (check.what.inside.empty() || check.what.inside == task) check.watch.begin(node_.now());
  }
}

void AllocChecks::ended(const std::string& task) {
  const MutexLock lock(mutex_);
  running_.erase(task);
}

void AllocChecks::pause(const std::string& task) {
  const MutexLock changing(changing_);
  std::vector<uint64_t> numbers;
  {
    const MutexLock lock(mutex_);
    paused_.insert(task);
    running_.erase(task);
    for (auto& [id, check] : checks_) {
      if (check.what.task != task) continue;
      numbers.push_back(std::exchange(check.number, 0));
      check.state = {};
      check.watch = {};
    }
  }
  if (numbers.empty()) return;
  for (const uint64_t number : numbers) node_.engine.remove(number);
  node_.status_changed();
  store_soon();
  tell_health();
}

// --- Results. [checks]

bool AllocChecks::take(Check& check, const EngineCheck::Result& result) {
  if (result) return take_result(check.state, *result, check.what.thresholds, check.what.tolerance, node_.now());
  if (result.status().code() == Code::cancelled) return false;
  if (check.what.is_remote) return take_unknown(check.state, result.status().message());
  take_error(check.state, result.status().message());
  return false;
}

// A registry knows no check that could not look: it is critical, unless its task is away.
EngineCheck::Result AllocChecks::for_registry(const EngineCheck::Result& result) {
  const Code code = result.status().code();
  if (result || code == Code::cancelled || code == Code::failed_precondition) return result;
  return check::critical(result.status().message());
}

void AllocChecks::answered(const std::string& id, EngineCheck::Result result) {
  bool is_other = false;
  std::string name, status, registry_id;
  RegistryChecks* registry = nullptr;
  {
    const MutexLock lock(mutex_);
    const auto at = checks_.find(id);
    if (at == checks_.end() || at->second.number == 0) return;
    if (!at->second.what.is_remote) registry = node_.registry(at->second.what.provider);
    registry_id = at->second.what.registry_id;
    if (registry) result = for_registry(result);
    is_other = take(at->second, result);
    name = at->second.what.check->name();
    status = text_of(at->second.state.outcome);
  }
  if (registry && result) registry->tell(registry_id, *result);
  if (!is_other) return;
  node_.status_changed();
  log::debug("checks", "a check has another status", {{"alloc", id_.to_string()}, {"check", name}, {"status", status}});
  store_soon();
  tell_health();
}

void AllocChecks::tell_health() {
  HookedAlloc* alloc = nullptr;
  {
    const MutexLock lock(mutex_);
    alloc = alloc_;
    if (!alloc) return;
    ++telling_;
  }
  alloc->health_changed();
  const MutexLock lock(mutex_);
  --telling_;
  told_.notify_all();
}

std::optional<PartHealth> AllocChecks::health() const {
  const MutexLock lock(mutex_);
  std::vector<CheckFacts> facts;
  for (const auto& [id, check] : checks_)
    facts.push_back({.service = check.what.service, .task = check.what.task, .good_since = check.state.good_since});
  return health_of(facts);
}

ServiceHealthNow AllocChecks::service_health(std::string_view task, std::string_view service) const {
  std::vector<CheckState> states;
  const MutexLock lock(mutex_);
  for (const auto& [id, check] : checks_) {
    if (check.what.task == task && check.what.service == service) states.push_back(check.state);
  }
  return worst_of(states);
}

std::string AllocChecks::name_space() const {
  const MutexLock lock(mutex_);
  return spec_ ? spec_->allocation->namespace_() : std::string();
}

v1::AllocationChecksResponse AllocChecks::list() const {
  v1::AllocationChecksResponse out;
  const MutexLock lock(mutex_);
  if (!spec_) return out;
  const std::string& name = spec_->allocation->name();
  for (const auto& [id, check] : checks_) {
    if (paused_.contains(check.what.task)) continue;
    v1::CheckQueryResult& row = (*out.mutable_checks())[id];
    row.set_id(id);
    row.set_mode(check.what.tolerance == Tolerance::failures ? "readiness" : "healthiness");
    row.set_status(std::string(text_of(check.state.outcome)));
    row.set_status_code(check.state.code);
    row.set_output(check.state.output);
    row.set_timestamp(check.state.timestamp / kSecond);
    row.set_group(name);
    row.set_task(check.what.task);
    row.set_service(check.what.service);
    row.set_check(check.what.check->name());
  }
  return out;
}

// --- Restarts

std::vector<AllocChecks::Order> AllocChecks::due_restarts() {
  std::vector<Order> orders;
  const int64_t now = node_.now();
  std::set<std::string> asked;  // whose services' checks have asked for one: one at a time
  const MutexLock lock(mutex_);
  for (auto& [id, check] : checks_) {
    if (!check.what.restart || check.number == 0 || asked.contains(check.what.task)) continue;
    Order order{.check = check.what.check->name(), .tasks = {}};
    for (const auto& [name, port] : tasks_) {
      const bool is_meant = check.what.inside.empty() || check.what.inside == name;
      if (is_meant && running_.contains(name)) order.tasks.push_back(port);
    }
    // While they wait to start there is nothing to restart; grace begins anew when they have.
    if (order.tasks.empty() || !check.watch.look(*check.what.restart, check.state.outcome, now)) continue;
    asked.insert(check.what.task);
    orders.push_back(std::move(order));
  }
  for (auto& [id, check] : checks_) {
    if (asked.contains(check.what.task)) check.watch.begin(now);
  }
  return orders;
}

void AllocChecks::look_for_restarts() {
  for (const Order& order : due_restarts()) {
    log::info("checks", "a task whose check is unhealthy is restarted",
              {{"alloc", id_.to_string()}, {"check", order.check}});
    for (const auto& task : order.tasks) {
      const Status status = task->restart("healthcheck: check \"" + order.check + "\" unhealthy");
      if (!status.ok()) log::debug("checks", "task not restarted", {{"reason", status.message()}});
    }
  }
}

// --- The disk

std::string AllocChecks::key() const { return "alloc/" + id_.bytes(); }

StoredResults AllocChecks::load() const {
  const auto bytes = node_.host.local_store().get(key());
  if (!bytes || !*bytes) return {};
  auto rows = parse_message<StoredResults>(**bytes);
  return rows ? *std::move(rows) : StoredResults();
}

// A change of status is rare, and writing waits for the disk: not on the engine's thread.
void AllocChecks::store_soon() {
  node_.host.post([self = shared_from_this()] { self->store(); });
}

void AllocChecks::store() {
  const MutexLock writing(storing_);
  StoredResults rows;
  {
    const MutexLock lock(mutex_);
    for (const auto& [id, check] : checks_) {
      if (check.state.outcome != Outcome::pending) (*rows.mutable_results())[id] = stored(check.state);
    }
  }
  LocalStore::Write write{.key = key(), .value = {}};
  if (!rows.results().empty()) write.value = serialize(rows);
  const Status status = node_.host.local_store().write({&write, 1});
  if (!status.ok())
    log::error("checks", "results are not on disk", {{"alloc", id_.to_string()}, {"error", status.message()}});
}

}  // namespace drover::checks
