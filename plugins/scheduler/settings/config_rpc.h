// The scheduler's settings as operators see and change them, and the row they stand in.
#pragma once

#include "drover/api/operator.pb.h"
#include "drover/plugin.h"
#include "tables.h"

namespace drover::scheduler {

// Declares the log command that writes the row. [apply]
Status declare_config_command(Declarations& declare, const Tables& tables);

// Handlers. [pool]
class ConfigRpc {
 public:
  explicit ConfigRpc(const Tables& tables) : tables_(tables) {}
  Status declare(Declarations& declare);

 private:
  Result<v1::SchedulerConfigurationResponse> get(const v1::SchedulerConfigurationRequest& request, Call& call);
  Result<Write<v1::SetSchedulerConfigurationResponse>> set(const v1::SetSchedulerConfigurationRequest& request,
                                                           Call& call);

  const Tables& tables_;
};

// Writes the row of a new cluster; does nothing when there is one. [leader]
Status write_initial_configuration(Host& host, const Tables& tables, const v1::SchedulerConfiguration& initial);

}  // namespace drover::scheduler
