#include "settings/config_row.h"

namespace drover::scheduler {

ConfigOption default_config_option() {
  using enum ConfigType;
  const auto flag = [](const char* name, const char* standard, const char* help) {
    return ConfigOption{.name = name, .type = boolean, .default_text = standard, .help = help};
  };
  ConfigOption preemption{.name = "preemption_config",
                          .type = block,
                          .help = "Types of jobs that may evict less important allocations to find room.",
                          .options = {flag("system_scheduler_enabled", "true", "Jobs of type system."),
                                      flag("sysbatch_scheduler_enabled", "false", "Jobs of type sysbatch."),
                                      flag("batch_scheduler_enabled", "false", "Jobs of type batch."),
                                      flag("service_scheduler_enabled", "false", "Jobs of type service.")}};
  preemption.options[1].api_name = "SysBatchSchedulerEnabled";
  return {.name = "default_scheduler_config",
          .type = block,
          .help = "How a new cluster places allocations, until an operator changes it.",
          .options = {
              {.name = "scheduler_algorithm",
               .type = string,
               .default_text = "binpack",
               .help = "binpack prefers the fullest node that has room, spread the emptiest.",
               .one_of = {"binpack", "spread"}},
              flag("memory_oversubscription_enabled", "false", "Tasks may use up to their memory_max."),
              flag("reject_job_registration", "false", "Only management tokens may register, dispatch and scale jobs."),
              flag("pause_eval_broker", "false", "No evaluation is handed out."),
              preemption}};
}

Result<v1::SchedulerConfiguration> initial_configuration(const ConfigBlock* block) {
  const ConfigBlock none;
  const ConfigBlock& from = block ? *block : none;
  v1::SchedulerConfiguration row;
  row.set_scheduler_algorithm(from.string("scheduler_algorithm", "binpack"));
  row.set_memory_oversubscription_enabled(from.boolean("memory_oversubscription_enabled"));
  row.set_reject_job_registration(from.boolean("reject_job_registration"));
  row.set_pause_eval_broker(from.boolean("pause_eval_broker"));
  const ConfigBlock* found = from.block("preemption_config");
  const ConfigBlock& types = found ? *found : none;
  v1::PreemptionConfig& preemption = *row.mutable_preemption_config();
  preemption.set_system_scheduler_enabled(types.boolean("system_scheduler_enabled", true));
  preemption.set_sys_batch_scheduler_enabled(types.boolean("sysbatch_scheduler_enabled"));
  preemption.set_batch_scheduler_enabled(types.boolean("batch_scheduler_enabled"));
  preemption.set_service_scheduler_enabled(types.boolean("service_scheduler_enabled"));
  DROVER_RETURN_IF_ERROR(check_configuration(row).with_context("server.default_scheduler_config"));
  return row;
}

Status check_configuration(const v1::SchedulerConfiguration& configuration) {
  const std::string& algorithm = configuration.scheduler_algorithm();
  if (algorithm.empty() || algorithm == "binpack" || algorithm == "spread") return ok_status();
  return invalid_argument("invalid scheduler algorithm: " + algorithm + "; use binpack or spread");
}

}  // namespace drover::scheduler
