// Jobs: what operators asked for, version by version.
#include <string>

#include "drover/config.h"
#include "drover/module.h"
#include "drover/v1/job.pb.h"
#include "priorities.h"
#include "rpc.h"
#include "tables.h"
#include "validate.h"

namespace drover::jobs {
namespace {

class JobsPlugin final : public Plugin {
 public:
  Status declare(Declarations& declare) override {
    DROVER_RETURN_IF_ERROR(declare_tables(declare, tables_));
    DROVER_RETURN_IF_ERROR(declare.configuration("server", {.options = {
                                                                {.name = "job_default_priority",
                                                                 .type = ConfigType::integer,
                                                                 .default_text = std::to_string(Priorities().standard),
                                                                 .help = "Priority of a job that names none.",
                                                                 .min = Priorities().standard,
                                                                 .max = kMaxPriority},
                                                                {.name = "job_max_priority",
                                                                 .type = ConfigType::integer,
                                                                 .default_text = std::to_string(Priorities().highest),
                                                                 .help = "Highest priority that a job may have.",
                                                                 .min = Priorities().highest,
                                                                 .max = kMaxPriority},
                                                            }}));
    DROVER_RETURN_IF_ERROR(declare.extend<JobValidator>("jobs", validator_));
    return rpc_.declare(declare);
  }
  Status start(Host& host) override {
    Priorities priorities;
    if (const ConfigBlock* server = host.configuration("server")) {
      priorities.standard = static_cast<int32_t>(server->integer("job_default_priority", priorities.standard));
      priorities.highest = static_cast<int32_t>(server->integer("job_max_priority", priorities.highest));
    }
    if (priorities.standard > priorities.highest) {
      return invalid_argument("server.job_default_priority: " + std::to_string(priorities.standard) +
                              " is above job_max_priority, which is " + std::to_string(priorities.highest));
    }
    const ConfigBlock* vault = host.configuration("vault");  // of the plugin of that name
    return rpc_.start(host, priorities, vault && vault->boolean("enabled"));
  }
  void stop(SteadyTime) override {}

 private:
  Tables tables_;
  Rpc rpc_{tables_};
  Validator validator_;
};

}  // namespace
}  // namespace drover::jobs

DROVER_MODULE(drover::jobs::JobsPlugin, "module", "jobs", "0.1.0");
