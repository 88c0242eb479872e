// Checks of services on the node that runs them.
#include "checks_hook.h"
#include "drover/api/client_checks.pb.h"
#include "drover/module.h"
#include "fingerprint.h"

namespace drover::checks {
namespace {

class ChecksPlugin final : public Plugin, private ServiceHealth {
 public:
  Status declare(Declarations& declare) override {
    DROVER_RETURN_IF_ERROR(
        declare.service("drover.v1.ClientChecks", {method<&ChecksPlugin::list>("List", this)}));
    DROVER_RETURN_IF_ERROR(declare.extend<NodeFingerprint>("checks", fingerprint_));
    DROVER_RETURN_IF_ERROR(declare.extend<AllocHook>("checks", alloc_hook_));
    DROVER_RETURN_IF_ERROR(declare.extend<ServiceHealth>("checks", *this));
    return declare.extend<TaskHook>("checks", task_hook_);
  }

  Status start(Host& host) override {
    fingerprint_.start(providers_);
    engine_ = std::make_unique<CheckEngine>(
        host.clock(),
        [this] {
          for (const auto& checks : registry_.all()) checks->look_for_restarts();
        },
        CheckEngine::Limits{});
    node_ = std::make_unique<Node>(Node{
        .host = host, .engine = *engine_, .providers = providers_, .status_changed = [this] { tell_status(); }});
    registry_.start(*node_);
    providers_.start(host, [this] { fingerprint_.changed(); });
    return ok_status();
  }

  void stop(SteadyTime) override {
    providers_.stop();
    if (engine_) engine_->stop();
  }

 private:
  ServiceHealthNow health(const Uuid& allocation, std::string_view task, std::string_view service) const override {
    const auto checks = registry_.find(allocation);
    return checks ? checks->service_health(task, service) : ServiceHealthNow();
  }
  void watch(std::function<void()> changed) override {
    const MutexLock lock(telling_);
    status_changed_ = std::move(changed);
  }
  void tell_status() {
    const MutexLock lock(telling_);
    if (status_changed_) status_changed_();
  }

  Result<v1::AllocationChecksResponse> list(const v1::AllocationChecksRequest& request, Call& call) {
    const Uuid id = Uuid::from_bytes(request.alloc_id());
    const auto checks = registry_.find(id);
    if (!checks) return not_found("Unknown allocation \"" + id.to_string() + "\"");
    const std::string name_space = checks->name_space();
    if (name_space.empty()) return v1::AllocationChecksResponse();
    DROVER_RETURN_IF_ERROR(call.require(name_space));
    return checks->list();
  }

  Mutex telling_;  // held over a word to those who watch
  std::function<void()> status_changed_ DROVER_GUARDED_BY(telling_);
  Providers providers_;
  ChecksFingerprint fingerprint_;
  std::unique_ptr<CheckEngine> engine_;
  std::unique_ptr<Node> node_;
  Registry registry_;
  AllocChecksHook alloc_hook_{registry_};
  TaskChecksHook task_hook_{registry_};
};

}  // namespace
}  // namespace drover::checks

DROVER_MODULE(drover::checks::ChecksPlugin, "module", "checks", "0.1.0");
