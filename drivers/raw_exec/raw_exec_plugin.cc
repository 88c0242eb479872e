// The driver "raw_exec": programs as they are, with the agent's rights and without isolation.
#include "drover/config.h"
#include "drover/plugin.h"
#include "drover/serve.h"
#include "raw_exec_driver.h"

namespace drover::raw_exec {
namespace {

class RawExecPlugin final : public Plugin {
 public:
  Status declare(Declarations& declare) override {
    DROVER_RETURN_IF_ERROR(declare.configuration(
        "plugin",
        {.options = {
             {.name = "enabled",
              .type = ConfigType::boolean,
              .help = "Let jobs run programs without isolation. Off unless the agent runs in development mode."},
             {.name = "no_cgroups",
              .type = ConfigType::boolean,
              .default_text = "false",
              .help = "Leave tasks in the launcher's control groups; processes that a task abandons are then "
                      "not found when it is stopped."},
         }}));
    return declare.extend<TaskDriver>("raw_exec", driver_);
  }
  Status start(Host& host) override {
    const ConfigBlock* own = host.configuration("plugin");
    DriverOptions options;
    options.is_enabled = own ? own->boolean("enabled", host.agent().dev_mode) : host.agent().dev_mode;
    options.uses_cgroups = !own || !own->boolean("no_cgroups", false);
    options.launcher.folder = host.agent().data_dir + "/launcher";
    driver_.open(std::move(options));
    return ok_status();
  }
  void stop(SteadyTime) override { driver_.stop(); }

 private:
  RawExecDriver driver_;
};

}  // namespace
}  // namespace drover::raw_exec

DROVER_MODULE(drover::raw_exec::RawExecPlugin, "task_driver", "raw_exec", "0.1.0");
DROVER_SERVE_DRIVER(drover::raw_exec::RawExecDriver, "raw_exec", "0.1.0");
