// The leader's housekeeping: what is over is forgotten, after its threshold or at once when an operator asks.
#include <algorithm>

#include "collect.h"
#include "drover/api/system.pb.h"
#include "drover/config.h"
#include "drover/log.h"
#include "drover/module.h"
#include "drover/pause.h"
#include "drover/v1/commands.pb.h"

namespace drover::gc {
namespace {

// However much there is to forget, the apply thread is soon done with one entry of it: some milliseconds
// (fill_bench, with a million allocations).
constexpr size_t kEvalsAnEntry = 25;
constexpr size_t kAllocsAnEntry = 40;
constexpr size_t kDeploymentsAnEntry = 50;
constexpr size_t kJobsAnEntry = 30;  // with all their versions
constexpr size_t kNodesAnEntry = 60;
constexpr auto kProposeTime = std::chrono::seconds(30);

class GcPlugin final : public Plugin {
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
                                             {.name = "deployment_gc_threshold",
                                              .type = duration,
                                              .default_text = "1h",
                                              .help = "Age at which a deployment that is over is forgotten.",
                                              .is_api_text = true},
                                             {.name = "csi_volume_claim_gc_interval"},
                                             {.name = "csi_volume_claim_gc_threshold"},
                                             {.name = "csi_plugin_gc_threshold"},
                                             {.name = "acl_token_gc_threshold"},
                                         }}));
    return declare.service("drover.v1.SystemMaintenance", {method<&GcPlugin::garbage_collect>("GarbageCollect", this)});
  }

  Status start(Host& host) override {
    host_ = &host;
    if (!host.agent().server) return ok_status();
    const ConfigBlock* server = host.configuration("server");
    interval_ = server->duration("job_gc_interval", interval_);
    thresholds_.job = server->duration("job_gc_threshold", thresholds_.job);
    thresholds_.evaluation = server->duration("eval_gc_threshold", thresholds_.evaluation);
    thresholds_.batch_evaluation = server->duration("batch_eval_gc_threshold", thresholds_.batch_evaluation);
    thresholds_.node = server->duration("node_gc_threshold", thresholds_.node);
    thresholds_.deployment = server->duration("deployment_gc_threshold", thresholds_.deployment);
    if (auto deployments = host.find_table("deployments")) tables_.deployments = *deployments;
    DROVER_TRY(tables_.jobs, host.find_table("jobs"));
    DROVER_TRY(tables_.nodes, host.find_table("nodes"));
    DROVER_TRY(tables_.evals, host.find_table("evals"));
    DROVER_TRY(tables_.allocs, host.find_table("allocs"));
    return ok_status();
  }

  void lead(std::stop_token stop) override {
    while (pause_for(interval_, stop)) {
      auto done = forget(thresholds_);
      if (!done)
        log::warn("gc", "garbage collection failed; trying again at the next interval",
                  {{"error", done.status().message()}});
    }
  }

  void stop(SteadyTime) override {}

 private:
  Result<v1::GarbageCollectResponse> garbage_collect(const v1::StatusRequest&, Call&) {
    return forget(Thresholds::now());
  }

  Result<v1::GarbageCollectResponse> forget(const Thresholds& thresholds) {
    const Garbage garbage = collect(*host_->snapshot(), tables_, thresholds, host_->clock().wall_ns());
    // Allocations go before the evaluations they belong to, so the rest is found again after a break.
    DROVER_RETURN_IF_ERROR(in_steps<v1::EvalsDeleted>(
        garbage.allocs, kAllocsAnEntry, [](auto& command, const auto& id) { command.add_alloc_ids(id); }));
    DROVER_RETURN_IF_ERROR(in_steps<v1::EvalsDeleted>(garbage.evals, kEvalsAnEntry,
                                                      [](auto& command, const auto& id) { command.add_eval_ids(id); }));
    DROVER_RETURN_IF_ERROR(
        in_steps<v1::DeploymentsDeleted>(garbage.deployments, kDeploymentsAnEntry,
                                         [](auto& command, const auto& id) { command.add_deployment_ids(id); }));
    DROVER_RETURN_IF_ERROR(in_steps<v1::JobsDeleted>(garbage.jobs, kJobsAnEntry, [](auto& command, const auto& key) {
      auto& name = *command.add_jobs();
      name.set_namespace_(key.first);
      name.set_id(key.second);
    }));
    DROVER_RETURN_IF_ERROR(in_steps<v1::NodesDeleted>(garbage.nodes, kNodesAnEntry,
                                                      [](auto& command, const auto& id) { command.add_node_ids(id); }));
    if (!garbage.empty()) {
      log::info("gc", "forgot what is over",
                {{"evaluations", garbage.evals.size()},
                 {"allocations", garbage.allocs.size()},
                 {"deployments", garbage.deployments.size()},
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

  // Proposes commands with at most `an_entry` of the items; `add` puts one into a command.
  template <typename Command, typename Item, typename Add>
  Status in_steps(const std::vector<Item>& items, size_t an_entry, const Add& add) {
    for (size_t begin = 0; begin < items.size(); begin += an_entry) {
      Command command;
      for (size_t i = begin; i < std::min(items.size(), begin + an_entry); ++i) add(command, items[i]);
      DROVER_RETURN_IF_ERROR(host_->propose(command, host_->clock().steady() + kProposeTime).status());
    }
    return ok_status();
  }

  Host* host_ = nullptr;
  Tables tables_;
  Thresholds thresholds_;
  std::chrono::nanoseconds interval_ = std::chrono::minutes(5);
};

}  // namespace
}  // namespace drover::gc

DROVER_MODULE(drover::gc::GcPlugin, "module", "gc", "0.1.0");
