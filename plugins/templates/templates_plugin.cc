// Templates of tasks, written and watched on the node that runs them.
#include "config.h"
#include "drover/module.h"
#include "template_hook.h"

namespace drover::templates {
namespace {

constexpr auto kLookEvery = std::chrono::seconds(2);

class TemplatesPlugin final : public Plugin {
 public:
  Status declare(Declarations& declare) override {
    DROVER_RETURN_IF_ERROR(declare.configuration("client", {.options = {template_block()}}));
    return declare.extend<TaskHook>("template", hook_);
  }
  Status start(Host& host) override {
    DROVER_TRY(Config config, template_config(host.configuration("client")));
    return hook_.start(host, std::move(config));
  }
  void stop(SteadyTime) override { hook_.stop(); }

 private:
  TemplateHook hook_{kLookEvery};
};

}  // namespace
}  // namespace drover::templates

DROVER_MODULE(drover::templates::TemplatesPlugin, "module", "templates", "0.1.0");
