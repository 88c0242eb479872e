// Reserved processor cores on the node that runs the tasks.
#include <optional>

#include "cores_hook.h"
#include "drover/log.h"
#include "drover/module.h"
#include "reservable.h"

namespace drover::cores {
namespace {

class CoresPlugin final : public Plugin {
 public:
  Status declare(Declarations& declare) override {
    DROVER_RETURN_IF_ERROR(declare.configuration("client", {.options = client_options()}));
    DROVER_RETURN_IF_ERROR(declare.extend<NodeFingerprint>("cores", fingerprint_));
    return declare.extend<TaskHook>("cores", hook_);
  }
  Status start(Host& host) override {
    const ConfigBlock* client = host.configuration("client");
    DROVER_TRY(const CoreOptions options, read_options(client));
    partition_.emplace(detect_cgroups(), client ? client->string("cgroup_parent") : "");
    Status status = partition_->open();
    if (!status.ok()) {
      log::info("cores", "tasks cannot reserve cores of this machine", {{"reason", status.message()}});
      partition_.reset();
      fingerprint_.start({}, options.kept);
      return ok_status();
    }
    DROVER_TRY(const CoreList machine, partition_->machine());
    DROVER_TRY(CoreList usable, usable_cores(options, machine));
    DROVER_RETURN_IF_ERROR(partition_->limit_to(usable));
    fingerprint_.start(std::move(usable), options.kept);
    hook_.start(&*partition_);
    return ok_status();
  }
  // Tasks that outlive the agent keep their parts, and their cores.
  void stop(SteadyTime) override {}

 private:
  std::optional<Partition> partition_;
  CoresFingerprint fingerprint_;
  CoresHook hook_;
};

}  // namespace
}  // namespace drover::cores

DROVER_MODULE(drover::cores::CoresPlugin, "module", "cores", "0.1.0");
