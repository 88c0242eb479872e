// The agent about itself, and the leader's housekeeping.
#include <unistd.h>

#include <array>
#include <condition_variable>
#include <mutex>
#include <set>

#include "agent_info.h"
#include "collect.h"
#include "drover/config.h"
#include "drover/log.h"
#include "drover/plugin.h"
#include "drover/server_directory.h"
#include "drover/v1/commands.pb.h"
#include "drover/v1/member.pb.h"
#include "metrics_text.h"
#include "monitor.h"

namespace drover::system {
namespace {

constexpr size_t kDeletesAnEntry = 2000;  // a log entry stays small however much there is to forget
constexpr auto kProposeTime = std::chrono::seconds(30);

std::string machine_name() {
  std::array<char, 256> name{};
  gethostname(name.data(), name.size() - 1);
  return name.data();
}

class SystemPlugin final : public Plugin {
 public:
  Status declare(Declarations& declare) override {
    using enum ConfigType;
    DROVER_RETURN_IF_ERROR(
        declare.configuration("server", {.options = {
                                             {.name = "job_gc_interval",
                                              .type = duration,
                                              .default_text = "5m",
                                              .help = "Time between garbage collections.",
                                              .min = 0.001,
                                              .is_api_text = true},
                                             {.name = "job_gc_threshold",
                                              .type = duration,
                                              .default_text = "4h",
                                              .help = "Age at which a dead job is forgotten.",
                                              .is_api_text = true},
                                             {.name = "eval_gc_threshold",
                                              .type = duration,
                                              .default_text = "1h",
                                              .help = "Age at which a finished evaluation is forgotten.",
                                              .is_api_text = true},
                                             {.name = "batch_eval_gc_threshold",
                                              .type = duration,
                                              .default_text = "24h",
                                              .help = "The same for batch jobs.",
                                              .is_api_text = true},
                                             {.name = "node_gc_threshold",
                                              .type = duration,
                                              .default_text = "24h",
                                              .help = "Age at which a node that is down is forgotten.",
                                              .is_api_text = true},
                                         }}));
    DROVER_RETURN_IF_ERROR(declare.configuration(
        "telemetry", {.options = {
                          {.name = "prometheus_metrics",
                           .type = boolean,
                           .default_text = "false",
                           .help = "Offer metrics in Prometheus' form."},
                          {.name = "collection_interval",
                           .type = duration,
                           .default_text = "1s",
                           .help = "Time between settings of a node's gauges.",
                           .is_api_text = true},
                          {.name = "publish_allocation_metrics",
                           .type = boolean,
                           .default_text = "false",
                           .help = "Set gauges of each task: processor and memory."},
                          {.name = "publish_node_metrics",
                           .type = boolean,
                           .default_text = "false",
                           .help = "Set gauges of a node's machine: processors, memory, disks."},
                          {.name = "statsite_address", .type = string, .api_name = "StatsiteAddr"},
                          {.name = "statsd_address", .type = string, .api_name = "StatsdAddr"},
                          {.name = "datadog_address", .type = string, .api_name = "DataDogAddr"},
                          {.name = "datadog_tags", .type = string_list, .api_name = "DataDogTags"},
                          {.name = "disable_hostname",
                           .type = boolean,
                           .default_text = "false",
                           .help = "Leave out the label `host` of metrics."},
                          {.name = "use_node_name",
                           .type = boolean,
                           .default_text = "false",
                           .help = "Put the agent's name into the label `host`, not the machine's."},
                          {.name = "filter_default", .type = boolean, .default_text = "true"},
                          {.name = "prefix_filter", .type = string_list},
                          {.name = "disable_dispatched_job_summary_metrics", .type = boolean, .default_text = "false"},
                          {.name = "disable_rpc_rate_metrics_labels", .type = boolean, .default_text = "false"},
                      }}));
    DROVER_RETURN_IF_ERROR(
        declare.service("drover.v1.ClusterStatus",
                        {method<&SystemPlugin::leader>("Leader", this), method<&SystemPlugin::peers>("Peers", this),
                         method<&SystemPlugin::regions>("Regions", this)}));
    DROVER_RETURN_IF_ERROR(declare.service(
        "drover.v1.AgentInformation",
        {method<&SystemPlugin::self>("Self", this), method<&SystemPlugin::health>("Health", this),
         stream<&SystemPlugin::watch_log>("Monitor", this), method<&SystemPlugin::metrics>("Metrics", this)}));
    return declare.service("drover.v1.SystemMaintenance",
                           {method<&SystemPlugin::garbage_collect>("GarbageCollect", this)});
  }

  Status start(Host& host) override {
    host_ = &host;
    prometheus_ = host.agent().dev_mode;
    host_name_ = machine_name();
    if (const ConfigBlock* telemetry = host.configuration("telemetry")) {
      prometheus_ = prometheus_ || telemetry->boolean("prometheus_metrics");
      if (telemetry->boolean("disable_hostname")) host_name_.clear();
      if (telemetry->boolean("use_node_name")) host_name_ = host.agent().name;
    }
    if (!host.agent().server) return ok_status();
    const ConfigBlock* server = host.configuration("server");
    interval_ = server->duration("job_gc_interval", interval_);
    thresholds_.job = server->duration("job_gc_threshold", thresholds_.job);
    thresholds_.evaluation = server->duration("eval_gc_threshold", thresholds_.evaluation);
    thresholds_.batch_evaluation = server->duration("batch_eval_gc_threshold", thresholds_.batch_evaluation);
    thresholds_.node = server->duration("node_gc_threshold", thresholds_.node);
    DROVER_TRY(tables_.jobs, host.find_table("jobs"));
    DROVER_TRY(tables_.nodes, host.find_table("nodes"));
    DROVER_TRY(tables_.evals, host.find_table("evals"));
    DROVER_TRY(tables_.allocs, host.find_table("allocs"));
    return ok_status();
  }

  void lead(std::stop_token stop) override {
    std::mutex mutex;
    std::condition_variable_any never;
    while (!stop.stop_requested()) {
      {
        std::unique_lock lock(mutex);
        never.wait_until(lock, stop, host_->clock().steady() + interval_, [] { return false; });
      }
      if (stop.stop_requested()) return;
      auto done = forget(thresholds_);
      if (!done)
        log::warn("gc", "garbage collection failed; trying again at the next interval",
                  {{"error", done.status().message()}});
    }
  }

  void stop(SteadyTime) override {}

 private:
  Result<v1::LeaderResponse> leader(const v1::StatusRequest&, Call&) {
    v1::LeaderResponse response;
    response.set_leader(host_->raft().leader_address);
    if (response.leader().empty()) return unavailable("No cluster leader");
    return response;
  }
  Result<v1::PeersResponse> peers(const v1::StatusRequest&, Call&) {
    v1::PeersResponse response;
    for (const RaftServer& server : host_->raft().servers) response.add_peers(server.address);
    return response;
  }
  Result<v1::RegionsResponse> regions(const v1::StatusRequest&, Call&) {
    v1::RegionsResponse response;
    std::set<std::string> names = {host_->agent().region};
    if (const auto* directory = host_->extension<ServerDirectory>("gossip")) {
      for (const ServerMember& server : directory->servers()) names.insert(server.region);
    }
    for (const std::string& name : names) response.add_regions(name);
    return response;
  }
  Result<v1::AgentSelfResponse> self(const v1::StatusRequest&, Call&) {
    v1::AgentSelfResponse response;
    const Known known = known_of(*host_);
    response.set_config(config_json(host_->configuration_json(), known));
    for (const ServerMember& server : known.servers) {
      if (server.id == known.agent.server_id) *response.mutable_member() = to_agent_member(server);
    }
    response.set_stats(stats_json(known));
    return response;
  }
  Result<v1::HealthResponse> health(const v1::HealthRequest& request, Call&) {
    return health_of(*host_, request, host_->local_node().has_value());
  }
  Status watch_log(const v1::MonitorRequest& request, Call& call, Replies<v1::MonitorFrame>& replies) {
    return monitor(request, call, replies);
  }
  Result<v1::MetricsResponse> metrics(const v1::MetricsRequest& request, Call&) {
    v1::MetricsResponse response;
    auto values = host_->metrics().values();
    if (!host_name_.empty()) {
      for (Metrics::Value& value : values) value.labels.emplace_back("host", host_name_);
    }
    if (request.format() == "prometheus") {
      if (!prometheus_)
        return with_http_status(
            failed_precondition("Prometheus is not enabled; set telemetry { prometheus_metrics = true }"), 415);
      response.set_text(to_prometheus(values));
      return response;
    }
    if (!request.format().empty())
      return invalid_argument("format \"" + request.format() + "\" is unknown; use prometheus or leave it out");
    response.set_summary(to_summary(values, host_->agent().started_at, host_->clock().wall_ns()));
    return response;
  }
  Result<v1::GarbageCollectResponse> garbage_collect(const v1::StatusRequest&, Call&) {
    return forget(Thresholds::now());
  }

  Result<v1::GarbageCollectResponse> forget(const Thresholds& thresholds) {
    const Garbage garbage = collect(*host_->snapshot(), tables_, thresholds, host_->clock().wall_ns());
    const auto deadline = host_->clock().steady() + kProposeTime;
    v1::EvalsDeleted evals;
    const auto flush = [&]() -> Status {
      if (evals.eval_ids().empty() && evals.alloc_ids().empty()) return ok_status();
      Status status = host_->propose(evals, deadline).status();
      evals.Clear();
      return status;
    };
    // Allocations go before the evaluations they belong to, so the rest is found again after a break.
    for (const std::string& id : garbage.allocs) {
      evals.add_alloc_ids(id);
      if (static_cast<size_t>(evals.alloc_ids_size()) >= kDeletesAnEntry) DROVER_RETURN_IF_ERROR(flush());
    }
    for (const std::string& id : garbage.evals) {
      evals.add_eval_ids(id);
      if (static_cast<size_t>(evals.eval_ids_size()) >= kDeletesAnEntry) DROVER_RETURN_IF_ERROR(flush());
    }
    DROVER_RETURN_IF_ERROR(flush());
    if (!garbage.jobs.empty()) {
      v1::JobsDeleted jobs;
      for (const auto& [name_space, id] : garbage.jobs) {
        auto& name = *jobs.add_jobs();
        name.set_namespace_(name_space);
        name.set_id(id);
      }
      DROVER_RETURN_IF_ERROR(host_->propose(jobs, deadline).status());
    }
    if (!garbage.nodes.empty()) {
      v1::NodesDeleted nodes;
      for (const std::string& id : garbage.nodes) nodes.add_node_ids(id);
      DROVER_RETURN_IF_ERROR(host_->propose(nodes, deadline).status());
    }
    if (!garbage.empty()) {
      log::info("gc", "forgot what is over",
                {{"evaluations", garbage.evals.size()},
                 {"allocations", garbage.allocs.size()},
                 {"jobs", garbage.jobs.size()},
                 {"nodes", garbage.nodes.size()}});
    }
    v1::GarbageCollectResponse response;
    response.set_evaluations(static_cast<int64_t>(garbage.evals.size()));
    response.set_allocations(static_cast<int64_t>(garbage.allocs.size()));
    response.set_jobs(static_cast<int64_t>(garbage.jobs.size()));
    response.set_nodes(static_cast<int64_t>(garbage.nodes.size()));
    return response;
  }

  Host* host_ = nullptr;
  bool prometheus_ = false;
  std::string host_name_;  // the label of every metric; empty: none
  Tables tables_;
  Thresholds thresholds_;
  std::chrono::nanoseconds interval_ = std::chrono::minutes(5);
};

}  // namespace
}  // namespace drover::system

DROVER_MODULE(drover::system::SystemPlugin, "module", "system", "0.1.0");
