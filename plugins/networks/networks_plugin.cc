// Networks of allocations on the node that runs them.
#include "cni/cni_networks.h"
#include "config.h"
#include "drover/module.h"
#include "fingerprint.h"
#include "native/native_bridge.h"
#include "network_hook.h"

namespace drover::networks {
namespace {

class NetworksPlugin final : public Plugin {
 public:
  Status declare(Declarations& declare) override {
    DROVER_RETURN_IF_ERROR(declare.configuration("client", {.options = client_options()}));
    DROVER_RETURN_IF_ERROR(declare.extend<NodeFingerprint>("networks", fingerprint_));
    return declare.extend<AllocHook>("networks", hook_);
  }
  Status start(Host& host) override {
    DROVER_TRY(config_, read_config(host.configuration("client")));
    programs_ = cni::programs_of(config_.cni_folders);
    cni_ = std::make_unique<cni::CniNetworks>(config_, *programs_);
    native_ = std::make_unique<NativeBridge>(config_, host.local_store());
    const BridgeBy bridge = find_bridge(config_);
    fingerprint_.start(config_, bridge);
    NetworkKind& by_cni = *cni_;
    NetworkKind& by_us = *native_;
    hook_.start(config_, {.bridge = bridge == BridgeBy::cni ? by_cni : by_us, .cni = by_cni, .native = by_us});
    return native_->start();
  }
  void stop(SteadyTime) override {}

 private:
  Config config_;
  std::unique_ptr<cni::Programs> programs_;
  std::unique_ptr<cni::CniNetworks> cni_;
  std::unique_ptr<NativeBridge> native_;
  NetworkFingerprint fingerprint_;
  NetworkHook hook_;
};

}  // namespace
}  // namespace drover::networks

DROVER_MODULE(drover::networks::NetworksPlugin, "module", "networks", "0.1.0");
