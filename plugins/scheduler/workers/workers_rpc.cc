#include "workers/workers_rpc.h"

#include "drover/api/operator.pb.h"
#include "drover/scheduler.h"
#include "drover/time.h"
#include "drover/v1/deployment.pb.h"
#include "drover/v1/trial.pb.h"
#include "leader.h"

namespace drover::scheduler {
namespace {

constexpr int64_t kMostWorkers = 1024;  // as num_schedulers
constexpr const char* kCore = "_core";  // the name that others have for what each leader does beside its workers

}  // namespace

Status WorkersRpc::declare(Declarations& declare) {
  return declare.service("drover.v1.SchedulerWorkers",
                         {method<&WorkersRpc::list>("List", this), method<&WorkersRpc::get>("GetConfiguration", this),
                          method<&WorkersRpc::set>("SetConfiguration", this)});
}

// All types by name, where none is named.
std::set<std::string> WorkersRpc::named(const std::set<std::string>& types) const {
  if (!types.empty()) return types;
  const auto all = host_->extensions<Scheduler>();
  return {all.begin(), all.end()};
}

v1::SchedulerWorkersConfig WorkersRpc::config() const {
  const Workers::Settings settings = workers_.settings();
  v1::SchedulerWorkersConfig config;
  config.set_server_id(host_->agent().name + "." + host_->agent().region);
  config.set_num_schedulers(settings.count);
  for (const std::string& type : named(settings.types)) config.add_enabled_schedulers(type);
  return config;
}

Result<v1::SchedulerWorkersResponse> WorkersRpc::list(const v1::SchedulerWorkersRequest&, Call&) {
  v1::SchedulerWorkersResponse response;
  response.set_server_id(host_->agent().name + "." + host_->agent().region);
  for (const Workers::Member& each : workers_.members()) {
    v1::SchedulerWorker& worker = *response.add_schedulers();
    worker.set_id(each.id.to_string());
    for (const std::string& type : named(each.types)) worker.add_enabled_schedulers(type);
    worker.set_started(format_time(each.started_ns));
    worker.set_status("Started");
    worker.set_workload_status(each.is_busy ? "Scheduling" : "WaitingToDequeue");
  }
  return response;
}

Result<v1::SchedulerWorkersConfig> WorkersRpc::get(const v1::SchedulerWorkersRequest&, Call&) { return config(); }

Result<v1::SchedulerWorkersConfig> WorkersRpc::set(const v1::SetSchedulerWorkersRequest& request, Call&) {
  if (request.num_schedulers() < 0 || request.num_schedulers() > kMostWorkers)
    return invalid_argument("Invalid request: num_schedulers is from 0 to " + std::to_string(kMostWorkers));
  std::vector<std::string> types;
  for (const std::string& type : request.enabled_schedulers()) {
    if (type != kCore) types.push_back(type);
  }
  if (types.empty()) return invalid_argument("Invalid request: enabled_schedulers names no type of jobs");
  auto enabled = enabled_types(*host_, types);
  if (!enabled) return enabled.status().with_context("Invalid request");
  workers_.change({.count = static_cast<int>(request.num_schedulers()), .types = *std::move(enabled)});
  return config();
}

}  // namespace drover::scheduler
