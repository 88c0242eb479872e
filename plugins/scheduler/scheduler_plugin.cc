// Scheduler: decides which nodes run what, and keeps evaluations and allocations.
#include <algorithm>
#include <optional>
#include <thread>

#include "columns.h"
#include "deciding/generic_scheduler.h"
#include "deciding/system_scheduler.h"
#include "drover/config.h"
#include "drover/module.h"
#include "explaining/why_rpc.h"
#include "leader.h"
#include "node_rpc.h"
#include "rpc.h"
#include "settings/config_row.h"
#include "settings/config_rpc.h"
#include "tables.h"
#include "trial_rpc.h"
#include "workers/workers_rpc.h"

namespace drover::scheduler {
namespace {

ConfigOption rejection_option() {
  return {.name = "plan_rejection_tracker",
          .type = ConfigType::block,
          .help = "Closes nodes for new work that refuse plans again and again.",
          .options = {{.name = "enabled",
                       .type = ConfigType::boolean,
                       .default_text = "false",
                       .help = "Whether nodes are closed so."},
                      {.name = "node_threshold",
                       .type = ConfigType::integer,
                       .default_text = "100",
                       .help = "Refusals within the window that close a node.",
                       .min = 1},
                      {.name = "node_window",
                       .type = ConfigType::duration,
                       .default_text = "5m",
                       .help = "The time in which refusals count.",
                       .min = 0.001}}};
}

RejectionOptions rejections_of(const ConfigBlock* block) {
  RejectionOptions options;
  if (!block) return options;
  options.enabled = block->boolean("enabled", options.enabled);
  options.node_threshold = block->integer("node_threshold", options.node_threshold);
  options.node_window = block->duration("node_window", options.node_window);
  return options;
}

class SchedulerPlugin final : public Plugin {
 public:
  Status declare(Declarations& declare) override {
    DROVER_RETURN_IF_ERROR(declare_tables(declare, tables_));
    DROVER_RETURN_IF_ERROR(declare_config_command(declare, tables_));
    DROVER_RETURN_IF_ERROR(declare.configuration(
        "server", {.options = {
                       {.name = "num_schedulers",
                        .type = ConfigType::integer,
                        .help = "Evaluations that this server works on at the same time while it leads. Default: the "
                                "number of CPU cores.",
                        .min = 0,
                        .max = 1024},
                       {.name = "enabled_schedulers",
                        .type = ConfigType::string_list,
                        .help = "Types of jobs that this server schedules while it leads, of those that have a "
                                "scheduler. Default: all."},
                       default_config_option(),
                       rejection_option(),
                       {.name = "deploy_query_rate_limit", .api_name = "DeploymentQueryRateLimit"},
                   }}));
    DROVER_RETURN_IF_ERROR(declare.extend<Scheduler>("service", service_));
    DROVER_RETURN_IF_ERROR(declare.extend<Scheduler>("batch", batch_));
    DROVER_RETURN_IF_ERROR(declare.extend<Scheduler>("system", system_));
    DROVER_RETURN_IF_ERROR(declare.extend<Scheduler>("sysbatch", sysbatch_));
    DROVER_RETURN_IF_ERROR(rpc_.declare(declare));
    DROVER_RETURN_IF_ERROR(config_rpc_.declare(declare));
    DROVER_RETURN_IF_ERROR(trial_rpc_.declare(declare));
    DROVER_RETURN_IF_ERROR(why_rpc_.declare(declare));
    DROVER_RETURN_IF_ERROR(workers_rpc_.declare(declare));
    return node_rpc_.declare(declare);
  }

  Status start(Host& host) override {
    host_ = &host;
    const ConfigBlock* server = host.configuration("server");
    Workers::Settings workers{.count = static_cast<int>(std::max(std::thread::hardware_concurrency(), 1U))};
    if (server) {
      workers.count = static_cast<int>(server->integer("num_schedulers", workers.count));
      if (server->has("enabled_schedulers")) {
        DROVER_TRY(workers.types, enabled_types(host, server->string_list("enabled_schedulers")));
      }
    }
    options_.workers->change(std::move(workers));
    workers_rpc_.start(host);
    const TypesNow types = [workers = options_.workers] { return workers->settings().types; };
    const ConfigBlock none;
    DROVER_TRY(options_.initial, initial_configuration((server ? server : &none)->block("default_scheduler_config")));
    options_.rejections = rejections_of((server ? server : &none)->block("plan_rejection_tracker"));
    if (auto deployments = host.find_table("deployments")) tables_.deployments = *deployments;
    if (auto pools = host.find_table("node_pools")) tables_.node_pools = *pools;
    columns_.emplace(host, tables_);
    DROVER_RETURN_IF_ERROR(rpc_.start(host));
    DROVER_RETURN_IF_ERROR(trial_rpc_.start(host, *columns_, exact_runs_, types));
    DROVER_RETURN_IF_ERROR(why_rpc_.start(host, *columns_, types));
    return node_rpc_.start(host);
  }

  void lead(std::stop_token stop) override { Leader(*host_, tables_, *columns_, exact_runs_, options_).run(stop); }
  void stop(SteadyTime) override { node_rpc_.stop(); }

 private:
  Tables tables_;
  Rpc rpc_{tables_};
  NodeRpc node_rpc_{tables_};
  TrialRpc trial_rpc_{tables_};
  WhyRpc why_rpc_{tables_};
  ConfigRpc config_rpc_{tables_};
  ExactRuns exact_runs_;
  LeaderOptions options_;
  WorkersRpc workers_rpc_{*options_.workers};
  GenericScheduler service_{/*is_batch=*/false};
  GenericScheduler batch_{/*is_batch=*/true};
  SystemScheduler system_{/*is_sysbatch=*/false};
  SystemScheduler sysbatch_{/*is_sysbatch=*/true};
  std::optional<SharedColumns> columns_;  // from start on
  Host* host_ = nullptr;
};

}  // namespace
}  // namespace drover::scheduler

DROVER_MODULE(drover::scheduler::SchedulerPlugin, "module", "scheduler", "0.1.0");
