#include "settings/config_rpc.h"

#include <memory>

#include "deciding/decide.h"
#include "drover/v1/allocation.pb.h"
#include "drover/v1/commands.pb.h"
#include "drover/v1/deployment.pb.h"
#include "drover/v1/trial.pb.h"
#include "scheduler.pb.h"
#include "settings/config_row.h"

namespace drover::scheduler {
namespace {

constexpr auto kProposeTime = std::chrono::seconds(10);
constexpr std::string_view kRow;  // the only one

struct ConfigCommands {
  Table<v1::SchedulerConfiguration> table;

  Result<std::string> configured(const v1::SchedulerConfigured& command, ApplyContext& context) const {
    const auto existing = table.get(context.rows(), kRow);
    v1::SetSchedulerConfigurationResponse answer;
    answer.set_index(context.index());
    if (command.has_check_index() && command.check_index() != (existing ? existing->modify_index() : 0)) {
      return serialize(answer);
    }
    v1::SchedulerConfiguration row = command.configuration();
    row.set_create_index(existing ? existing->create_index() : context.index());
    row.set_modify_index(context.index());
    DROVER_RETURN_IF_ERROR(table.put(context.rows(), row));
    answer.set_updated(true);
    return serialize(answer);
  }
};

}  // namespace

Status declare_config_command(Declarations& declare, const Tables& tables) {
  return declare.command<&ConfigCommands::configured>(std::make_shared<ConfigCommands>(ConfigCommands{tables.config}));
}

Status ConfigRpc::declare(Declarations& declare) {
  return declare.service("drover.v1.OperatorScheduler", {method<&ConfigRpc::get>("GetConfiguration", this),
                                                         method<&ConfigRpc::set>("SetConfiguration", this)});
}

Result<v1::SchedulerConfigurationResponse> ConfigRpc::get(const v1::SchedulerConfigurationRequest&, Call& call) {
  v1::SchedulerConfigurationResponse response;
  v1::SchedulerConfiguration& shown = *response.mutable_scheduler_config();
  shown = tables_.config.get(call.view(), kRow).value_or(default_configuration());
  response.set_index(shown.modify_index());
  call.set_index(shown.modify_index());
  return response;
}

Result<Write<v1::SetSchedulerConfigurationResponse>> ConfigRpc::set(const v1::SetSchedulerConfigurationRequest& request,
                                                                    Call&) {
  DROVER_RETURN_IF_ERROR(check_configuration(request.configuration()));
  v1::SchedulerConfigured command;
  v1::SchedulerConfiguration& wanted = *command.mutable_configuration();
  wanted = request.configuration();
  if (wanted.scheduler_algorithm().empty()) wanted.set_scheduler_algorithm("binpack");
  wanted.mutable_preemption_config();
  if (request.has_cas()) command.set_check_index(request.cas());
  return Write<v1::SetSchedulerConfigurationResponse>(command, [](const Applied& applied) {
    return parse_message<v1::SetSchedulerConfigurationResponse>(applied.answer);
  });
}

Status write_initial_configuration(Host& host, const Tables& tables, const v1::SchedulerConfiguration& initial) {
  if (tables.config.get(*host.snapshot(), kRow)) return ok_status();
  v1::SchedulerConfigured command;
  *command.mutable_configuration() = initial;
  command.set_check_index(0);
  return host.propose(command, host.clock().steady() + kProposeTime).status();
}

}  // namespace drover::scheduler
