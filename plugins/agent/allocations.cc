#include "allocations.h"

#include <pthread.h>

#include <algorithm>
#include <random>
#include <set>

#include "disk/secrets.h"
#include "drover/log.h"
#include "drover/model/allocation.h"
#include "drover/pause.h"
#include "drover/stopping.h"
#include "drover/uuid.h"
#include "drover/v1/node_service.pb.h"
#include "server_calls.h"

#include "agent_state.pb.h"

namespace drover::agent {
namespace {

constexpr auto kWatchTime = std::chrono::minutes(5);
constexpr auto kFirstRetry = std::chrono::milliseconds(200);
constexpr auto kLongestRetry = std::chrono::seconds(15);

// One of its tasks mounts volumes for other allocations.
bool is_storage_plugin(const AllocSpec& spec) {
  return spec.group && std::ranges::any_of(spec.group->tasks(), &v1::Task::has_csi_plugin_config);
}

}  // namespace

PullPlan plan_pull(const std::map<Uuid, uint64_t>& known, const std::map<Uuid, uint64_t>& listed) {
  PullPlan plan;
  for (const auto& [id, index] : listed) {
    auto at = known.find(id);
    if (at == known.end() || at->second != index) plan.fetch.push_back(id);
  }
  for (const auto& [id, index] : known) {
    if (!listed.contains(id)) plan.gone.push_back(id);
  }
  return plan;
}

bool was_restored(const std::map<Uuid, uint64_t>& known, const std::map<Uuid, uint64_t>& listed, uint64_t seen,
                  uint64_t now) {
  if (seen <= 1 || now <= seen) return false;
  bool any_newer = false;
  for (const auto& [id, index] : listed) {
    const auto at = known.find(id);
    if (at != known.end() && at->second == index) continue;
    if (index <= seen) return true;
    any_newer = true;
  }
  return !any_newer;
}

Allocations::~Allocations() { stop(false, client_.now()); }

Status Allocations::restore() {
  DROVER_TRY(auto rows, client_.store.allocations());
  std::set<Uuid> known;
  for (const auto& [id, row] : rows) known.insert(id);
  unmount_strays(client_.config.alloc_dir, known);
  for (auto& [id, row] : rows) {
    DROVER_TRY(auto tasks, client_.store.tasks(id));
    auto spec = std::make_shared<const AllocSpec>(std::move(*row.mutable_allocation()),
                                                  std::make_shared<const v1::Job>(std::move(*row.mutable_job())));
    const uint64_t index = spec->allocation->alloc_modify_index();
    StoredRun stored{
        .hooks = {row.hooks().begin(), row.hooks().end()}, .health = row.health(), .tasks = std::move(tasks)};
    auto runner = std::make_shared<AllocRunner>(client_, std::move(spec), std::move(stored));
    MutexLock lock(mutex_);
    runners_[id] = runner;
    known_[id] = index;
  }
  // Once all are there: one may wait for another.
  for (const auto& runner : all()) runner->begin();
  return ok_status();
}

void Allocations::start() {
  thread_ = std::jthread([this](const std::stop_token& stop) { run(stop); });
}

void Allocations::node_is_known() {
  {
    MutexLock lock(mutex_);
    node_known_ = true;
  }
  woken_.notify_all();
}

void Allocations::end(const Runners& runners, SteadyTime deadline) const {
  const auto left = std::max<std::chrono::nanoseconds>(deadline - client_.now(), {});
  for (const auto& runner : runners) runner->stop(left / 2);
  for (const auto& runner : runners) {
    if (runner->wait_terminal(deadline)) runner->destroy();
  }
  for (const auto& runner : runners) {
    if (const Status status = runner->wait_removed(deadline); !status.ok())
      log::warn("agent", "allocation not ended in time",
                {{"alloc", runner->id().to_string()}, {"error", status.message()}});
  }
}

void Allocations::stop(bool end_tasks, SteadyTime deadline) {
  if (thread_.joinable()) {
    thread_.request_stop();
    thread_.join();
  }
  const auto runners = all();
  if (end_tasks) {
    // Storage plugins last: the volumes of the others are unmounted by them.
    auto users = runners;
    const auto plugins =
        std::ranges::stable_partition(users, [](const auto& runner) { return !is_storage_plugin(*runner->spec()); });
    end({users.begin(), plugins.begin()}, deadline);
    end({plugins.begin(), plugins.end()}, deadline);
  }
  for (const auto& runner : runners) runner->detach();
  for (const auto& runner : runners) runner->join();
  MutexLock lock(mutex_);
  runners_.clear();
}

std::vector<std::shared_ptr<AllocRunner>> Allocations::all() const {
  MutexLock lock(mutex_);
  std::vector<std::shared_ptr<AllocRunner>> out;
  for (const auto& [id, runner] : runners_) out.push_back(runner);
  return out;
}

Result<Uuid> Allocations::locate(std::string_view id) const {
  if (!find(id)) return not_found("Unknown allocation \"" + Uuid::from_bytes(id).to_string() + "\"");
  return client_.identity.id;
}

std::shared_ptr<AllocRunner> Allocations::find(std::string_view id) const {
  if (id.size() != 16) return nullptr;
  MutexLock lock(mutex_);
  auto at = runners_.find(Uuid::from_bytes(id));
  return at == runners_.end() ? nullptr : at->second;
}

std::vector<v1::Allocation> Allocations::describe(const std::vector<Uuid>& ids) const {
  std::vector<v1::Allocation> out;
  for (Uuid id : ids) {
    if (auto runner = find(id.bytes())) out.push_back(runner->report());
  }
  return out;
}

Status Allocations::collect(std::string_view id, SteadyTime deadline) {
  auto runner = find(id);
  if (!runner) return not_found("Unknown allocation \"" + Uuid::from_bytes(id).to_string() + "\"");
  if (!runner->is_terminal()) return failed_precondition("alloc is not terminal: stop it before it can be collected");
  runner->destroy();
  return await_removal(runner->id(), deadline);
}

Status Allocations::await_removal(const Uuid& id, SteadyTime deadline) {
  const auto runner = find(id.bytes());
  if (!runner) return ok_status();
  DROVER_RETURN_IF_ERROR(runner->wait_removed(deadline));
  // It stays known, so that it is not fetched again while the servers list it.
  MutexLock lock(mutex_);
  runners_.erase(id);
  return ok_status();
}

void Allocations::collect_all(SteadyTime deadline) {
  std::vector<std::shared_ptr<AllocRunner>> over = all();
  std::erase_if(over, [](const auto& runner) { return !runner->is_terminal(); });
  for (const auto& runner : over) runner->destroy();
  for (const auto& runner : over) (void)await_removal(runner->id(), deadline);  // what is left is logged
}

void Allocations::run(const std::stop_token& stop) {
  ::pthread_setname_np(::pthread_self(), "allocs");
  std::mt19937_64 random{std::random_device{}()};
  {
    MutexLock lock(mutex_);
    woken_.wait(lock, stop, [&]() DROVER_REQUIRES(mutex_) { return node_known_; });
  }
  uint64_t index = 0;
  std::chrono::nanoseconds delay = kFirstRetry;
  while (!stop.stop_requested()) {
    const std::string shown = client_.proof.identity();
    Status status = pull(index, stop);
    if (status.ok()) {
      delay = kFirstRetry;
      continue;
    }
    if (stop.stop_requested()) return;
    // The identity was replaced while this waited: nothing is wrong.
    if (status.code() == Code::permission_denied && client_.proof.identity() != shown) continue;
    // A heartbeat finds out, at the leader, whether the node must register again. What runs here goes on.
    if (status.code() == Code::permission_denied && client_.doubted) client_.doubted();
    // The kernel ends calls before it stops plugins, so this agent's own end comes as an error first.
    log::write(is_agent_stopping(status) ? log::Level::debug : log::Level::warn, "agent",
               "allocations not read from the servers", {{"error", status.message()}});
    const double share = std::uniform_real_distribution<double>(0.75, 1.25)(random);
    pause_for(std::chrono::nanoseconds(static_cast<int64_t>(share * static_cast<double>(delay.count()))), stop);
    delay = std::min<std::chrono::nanoseconds>(delay * 2, kLongestRetry);
  }
}

Status Allocations::pull(uint64_t& index, const std::stop_token& stop) {
  v1::WatchAllocationsRequest request;
  request.set_node_id(client_.identity.id.bytes());
  request.set_secret_id(client_.proof.in_request());
  CallContext context =
      node_call(client_, "/drover.v1.NodeAllocations/Watch", kWatchTime + std::chrono::seconds(30), stop);
  context.query.min_index = index;
  context.query.max_wait = kWatchTime;
  context.query.stale = true;
  ReplyMeta meta;
  DROVER_TRY(auto response,
             call<v1::WatchAllocationsResponse>(client_.host.caller(), std::move(context), request, &meta));
  if (meta.index < index && index > 1) {
    // A server that is behind, or one that was restored from an older snapshot: begin again rather than act on it.
    index = 0;
    return unavailable("the server's answer is older than what is known");
  }
  std::map<Uuid, uint64_t> listed;
  for (const auto& entry : response.entries()) listed[Uuid::from_bytes(entry.alloc_id())] = entry.alloc_modify_index();
  PullPlan plan;
  std::vector<Uuid> to_tell;
  {
    MutexLock lock(mutex_);
    plan = plan_pull(known_, listed);
    if (was_restored(known_, listed, index, meta.index)) {
      for (const auto& [id, at] : listed) to_tell.push_back(id);
    }
  }
  if (!plan.fetch.empty()) DROVER_RETURN_IF_ERROR(fetch(plan.fetch, listed, stop));
  forget(plan.gone);
  // A restored state may believe something of them that was overtaken long ago.
  for (const Uuid& id : to_tell) client_.changed(id, true);
  index = std::max<uint64_t>(meta.index, 1);  // zero would not block
  return ok_status();
}

Status Allocations::fetch(const std::vector<Uuid>& ids, const std::map<Uuid, uint64_t>& listed,
                          const std::stop_token& stop) {
  v1::FetchAllocationsRequest request;
  request.set_node_id(client_.identity.id.bytes());
  request.set_secret_id(client_.proof.in_request());
  for (Uuid id : ids) request.add_alloc_ids(id.bytes());
  CallContext context = node_call(client_, "/drover.v1.NodeAllocations/Fetch", std::chrono::seconds(30), stop);
  context.query.stale = true;
  DROVER_TRY(auto response, call<v1::FetchAllocationsResponse>(client_.host.caller(), std::move(context), request));
  // Allocations of one job share it.
  std::map<std::tuple<std::string, std::string, uint64_t>, std::shared_ptr<const v1::Job>> jobs;
  for (v1::Job& job : *response.mutable_jobs()) {
    auto& shared = jobs[{job.namespace_(), job.id(), job.version()}];
    shared = std::make_shared<const v1::Job>(std::move(job));
  }
  bool behind = response.allocations_size() < request.alloc_ids_size();
  for (const v1::Allocation& allocation : response.allocations()) {
    auto at = listed.find(Uuid::from_bytes(allocation.id()));
    if (at != listed.end() && allocation.alloc_modify_index() < at->second) {
      behind = true;
      continue;
    }
    const auto job = jobs.find({allocation.namespace_(), allocation.job_id(), allocation.job_version()});
    accept(std::make_shared<const AllocSpec>(allocation,
                                             job == jobs.end() ? std::make_shared<const v1::Job>() : job->second));
  }
  if (behind) return unavailable("the server that answered is behind the one that listed the allocations");
  return ok_status();
}

void Allocations::accept(AllocSpecPtr spec) {
  const Uuid id = Uuid::from_bytes(spec->allocation->id());
  std::shared_ptr<AllocRunner> fresh, existing;
  {
    MutexLock lock(mutex_);
    known_[id] = spec->allocation->alloc_modify_index();
    if (auto at = runners_.find(id); at != runners_.end()) {
      existing = at->second;
    } else if (!client_terminal(*spec->allocation)) {
      fresh = runners_[id] = std::make_shared<AllocRunner>(client_, spec, StoredRun());
    }
  }
  // The servers forget a purged job at once. What its allocation does, and how it ends, stands there.
  if (existing && spec->job->id().empty())
    spec = std::make_shared<const AllocSpec>(*spec->allocation, existing->spec()->job);
  // The servers lost sight of it: they hear how it is, and know that it is back.
  const bool is_unknown = spec->allocation->client_status() == v1::CLIENT_STATUS_UNKNOWN;
  if (existing) existing->update(std::move(spec));
  if (existing && is_unknown) existing->reconnected();
  if (fresh) fresh->begin();
}

void Allocations::forget(const std::vector<Uuid>& gone) {
  for (Uuid id : gone) {
    auto runner = find(id.bytes());
    if (runner) runner->destroy();
    MutexLock lock(mutex_);
    if (!runner || runner->is_gone()) {
      runners_.erase(id);
      known_.erase(id);
    }
  }
}

}  // namespace drover::agent
