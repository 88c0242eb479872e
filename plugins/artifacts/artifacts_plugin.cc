// Artifacts of tasks, fetched on the node that runs them.
#include "artifact_hook.h"
#include "config.h"
#include "drover/installed.h"
#include "drover/module.h"

namespace drover::artifacts {
namespace {

class ArtifactsPlugin final : public Plugin {
 public:
  Status declare(Declarations& declare) override {
    DROVER_RETURN_IF_ERROR(declare.configuration("client", {.options = {artifact_block()}}));
    return declare.extend<TaskHook>("artifacts", hook_);
  }
  Status start(Host& host) override {
    hook_.start(host, artifact_config(host.configuration("client")), installed_program("drover-fetch"));
    return ok_status();
  }
  void stop(SteadyTime) override {}

 private:
  ArtifactHook hook_;
};

}  // namespace
}  // namespace drover::artifacts

DROVER_MODULE(drover::artifacts::ArtifactsPlugin, "module", "artifacts", "0.1.0");
