#include "machines.h"

#include "drover/model/allocation.h"
#include "drover/model/job.h"
#include "drover/schema.h"
#include "drover/uuid.h"
#include "drover/v1/node_service.pb.h"

namespace drover::lives {
namespace {

constexpr int64_t kSecond = 1'000'000'000;

}  // namespace

Machine::Machine(Server& server, Random& random, const std::string& name, int64_t cpu, bool is_of_kind_a)
    : server_(server), random_(random) {
  node_.set_id(Uuid::random().bytes());
  node_.set_secret_id(Uuid::random().bytes());
  node_.set_name(name);
  node_.set_datacenter("dc1");
  v1::NodeResources& has = *node_.mutable_node_resources();
  has.mutable_cpu()->set_cpu_shares(cpu);
  has.mutable_cpu()->set_total_cpu_cores(4);
  for (uint32_t core = 0; core < 4; ++core) has.mutable_cpu()->add_reservable_cpu_cores(core);
  has.mutable_memory()->set_memory_mb(cpu);
  has.mutable_disk()->set_disk_mb(100'000);
  v1::NetworkResource& network = *has.add_networks();
  network.set_mode("host");
  network.set_device("eth0");
  network.set_ip("10.0.0.1");
  v1::DriverInfo& driver = (*node_.mutable_drivers())["mock"];
  driver.set_detected(true);
  driver.set_healthy(true);
  (*node_.mutable_attributes())["kernel.name"] = "linux";
  (*node_.mutable_attributes())["driver.mock"] = "1";
  (*node_.mutable_meta())["kind"] = is_of_kind_a ? "a" : "b";
}

void Machine::crash() {
  for (auto& [id, run] : runs_) {
    if (client_terminal(run.status)) continue;
    run.status = v1::CLIENT_STATUS_FAILED;
    run.finished_at = server_.now();
    run.is_news = true;
    if (!run.deployment.empty() && !run.healthy) run.healthy = false;
  }
}

bool Machine::act(const Weather& weather) {
  if (is_removed_) return false;
  live();
  if (is_silent_) {
    was_silent_ = true;
    return false;
  }
  if (was_silent_) {  // it says everything again
    was_silent_ = false;
    next_beat_ = 0;
    learned_ = 0;
    for (auto& [id, run] : runs_) run.is_news = true;
  }
  const uint64_t before = server_.host().raft().last_index;
  if (!beat()) return false;
  if (random_.one_in(2)) {  // either may come first
    learn(weather);
    (void)report();
  } else if (report()) {
    learn(weather);
  }
  return server_.host().raft().last_index != before;
}

// True when the server knows the machine.
bool Machine::beat() {
  if (!is_registered_) {
    v1::RegisterNodeRequest request;
    *request.mutable_node() = node_;
    is_registered_ = server_.call<v1::HeartbeatResponse>("/drover.v1.NodeRegistry/Register", request).ok();
    next_beat_ = 0;
  }
  if (!is_registered_) return false;
  if (server_.now() < next_beat_) return true;
  v1::HeartbeatRequest request;
  request.set_node_id(node_.id());
  request.set_secret_id(node_.secret_id());
  request.set_status(v1::NODE_STATUS_READY);
  const auto answer = server_.call<v1::HeartbeatResponse>("/drover.v1.NodeRegistry/Heartbeat", request);
  if (!answer) return is_registered_ = answer.status().code() != Code::not_found;
  next_beat_ = server_.now() + answer->heartbeat_ttl() / 2;
  // One that was out of reach is ready only once it has reported.
  const auto row = Table<v1::Node>(*server_.host().find_table("nodes")).get(*server_.host().snapshot(), id());
  if (row && row->status() != v1::NODE_STATUS_READY) next_beat_ = server_.now() + kSecond;
  return true;
}

void Machine::learn(const Weather& weather) {
  v1::WatchAllocationsRequest watch;
  watch.set_node_id(node_.id());
  watch.set_secret_id(node_.secret_id());
  const auto known = server_.call<v1::WatchAllocationsResponse>("/drover.v1.NodeAllocations/Watch", watch);
  if (!known) return;
  v1::FetchAllocationsRequest fetch;
  fetch.set_node_id(node_.id());
  fetch.set_secret_id(node_.secret_id());
  std::map<std::string, uint64_t> there;
  for (const auto& entry : known->entries()) {
    there[entry.alloc_id()] = entry.alloc_modify_index();
    const auto at = seen_.find(entry.alloc_id());
    if (at == seen_.end() || at->second < entry.alloc_modify_index()) fetch.add_alloc_ids(entry.alloc_id());
  }
  // A collected allocation is stopped without a word.
  std::erase_if(runs_, [&](const auto& run) { return !there.contains(run.first); });
  seen_ = std::move(there);
  if (fetch.alloc_ids().empty()) return;
  const auto fetched = server_.call<v1::FetchAllocationsResponse>("/drover.v1.NodeAllocations/Fetch", fetch);
  if (!fetched) {
    seen_.clear();
    return;
  }
  for (const v1::Allocation& alloc : fetched->allocations()) {
    const auto at = runs_.find(alloc.id());
    if (server_terminal(alloc)) {
      if (at != runs_.end() && !client_terminal(at->second.status) && at->second.stops_at == 0) {
        at->second.stops_at = server_.now() + random_.below(10) * kSecond;
      } else if (at == runs_.end() && !client_terminal(alloc)) {
        // It was stopped before it began.
        runs_[alloc.id()] = {.status = v1::CLIENT_STATUS_COMPLETE, .finished_at = server_.now()};
      }
    } else if (at == runs_.end()) {
      if (!client_terminal(alloc)) begin(alloc, weather);
    } else if (alloc.deployment_id() != at->second.deployment) {
      judge(alloc, at->second, weather);
    }
  }
}

void Machine::begin(const v1::Allocation& alloc, const Weather& weather) {
  Run& run = runs_[alloc.id()];
  run.starts_at = server_.now() + random_.below(8) * kSecond;
  run.is_news = false;
  const auto& view = *server_.host().snapshot();
  const auto job =
      Table<v1::Job>(*server_.host().find_table("jobs")).get(view, job_key(alloc.namespace_(), alloc.job_id()));
  if (job && (job->type() == "batch" || job->type() == "sysbatch")) {
    run.ends_at = run.starts_at + random_.between(5, 200) * kSecond;
  }
  if (weather.fails_one_in > 0 && random_.one_in(weather.fails_one_in)) {
    run.ends_at = run.starts_at + random_.below(120) * kSecond;
    run.end = random_.one_in(5) ? v1::CLIENT_STATUS_COMPLETE : v1::CLIENT_STATUS_FAILED;
  }
  judge(alloc, run, weather);
}

void Machine::judge(const v1::Allocation& alloc, Run& run, const Weather& weather) {
  run.deployment = alloc.deployment_id();
  run.healthy.reset();
  run.judged_at = 0;
  if (run.deployment.empty() || client_terminal(run.status)) return;
  run.becomes_healthy = weather.unhealthy_one_in == 0 || !random_.one_in(weather.unhealthy_one_in);
  run.judged_at = std::max(run.starts_at, server_.now()) + random_.between(5, 40) * kSecond;
}

// Time passes on the machine itself.
void Machine::live() {
  const int64_t now = server_.now();
  for (auto& [id, run] : runs_) {
    if (client_terminal(run.status)) continue;
    const auto end = [&, &one = run](v1::ClientStatus status) {
      one.status = status;
      one.finished_at = now;
      one.is_news = true;
      if (status == v1::CLIENT_STATUS_FAILED && !one.deployment.empty() && !one.healthy) one.healthy = false;
    };
    if (run.stops_at > 0 && run.stops_at <= now) {
      end(v1::CLIENT_STATUS_COMPLETE);
    } else if (run.ends_at > 0 && run.ends_at <= now) {
      end(run.end);
    } else if (run.status == v1::CLIENT_STATUS_PENDING && run.stops_at == 0 && run.starts_at <= now) {
      run.status = v1::CLIENT_STATUS_RUNNING;
      run.started_at = now;
      run.is_news = true;
    }
    if (run.judged_at > 0 && run.judged_at <= now && !run.healthy && run.status == v1::CLIENT_STATUS_RUNNING) {
      run.healthy = run.becomes_healthy;
      run.is_news = true;
    }
  }
}

// False when the server did not take it.
bool Machine::report() {
  v1::UpdateAllocationsRequest request;
  request.set_node_id(node_.id());
  request.set_secret_id(node_.secret_id());
  for (const auto& [id, run] : runs_) {
    if (!run.is_news) continue;
    v1::Allocation& alloc = *request.add_allocations();
    alloc.set_id(id);
    alloc.set_client_status(run.status);
    v1::TaskState& task = (*alloc.mutable_task_states())["main"];
    task.set_state(client_terminal(run.status)               ? "dead"
                   : run.status == v1::CLIENT_STATUS_RUNNING ? "running"
                                                             : "pending");
    task.set_failed(run.status == v1::CLIENT_STATUS_FAILED);
    task.set_started_at(run.started_at);
    if (client_terminal(run.status)) task.set_finished_at(run.finished_at);
    if (run.healthy) {
      alloc.mutable_deployment_status()->set_healthy(*run.healthy);
      alloc.mutable_deployment_status()->set_timestamp(server_.now());
    }
  }
  if (request.allocations().empty()) return true;
  if (!server_.call<v1::UpdateAllocationsResponse>("/drover.v1.NodeAllocations/Update", request)) return false;
  for (auto& [id, run] : runs_) run.is_news = false;
  return true;
}

}  // namespace drover::lives
