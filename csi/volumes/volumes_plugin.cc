// Volumes of storage plugins, on servers: what there are, and who claims them.
#include "claim_rpc.h"
#include "claims/claim_keeper.h"
#include "drover/log.h"
#include "drover/module.h"
#include "drover/pause.h"
#include "secrets.h"
#include "tables.h"
#include "volume_rpc.h"
#include "volumes.pb.h"

namespace drover::volumes {
namespace {

constexpr auto kResealEvery = std::chrono::seconds(2);

class VolumesPlugin final : public Plugin {
 public:
  Status declare(Declarations& declare) override {
    DROVER_RETURN_IF_ERROR(declare_tables(declare, tables_));
    DROVER_RETURN_IF_ERROR(declare.extend<KeyUser>("volumes", uses_));
    DROVER_RETURN_IF_ERROR(claim_rpc_.declare(declare));
    return volume_rpc_.declare(declare);
  }

  Status start(Host& host) override {
    host_ = &host;
    keys_ = host.extension<Keyring>("keyring");
    if (!keys_) return failed_precondition("volumes need the plugin keyring, which seals their secrets; enable it");
    claim_rpc_.start(host, *keys_);
    volume_rpc_.start(host, *keys_);
    keeper_.start(host, *keys_);
    return ok_status();
  }

  void lead(std::stop_token stop) override {
    const std::jthread resealing([this, stop] {
      while (pause_for(kResealEvery, stop)) reseal();
    });
    keeper_.run(stop);
  }

  void stop(SteadyTime) override {}

 private:
  void reseal() {
    const auto command = next_resealed(*host_->snapshot(), tables_, *keys_);
    if (!command) return;
    const Status status = host_->propose(*command, host_->clock().steady() + kProposeTime).status();
    log::info("volumes", "sealed secrets of volumes by the new root key",
              {{"volumes", command->volumes_size()},
               {"claims", command->claims_size()},
               {"result", status.to_string()}});
  }

  Host* host_ = nullptr;
  Keyring* keys_ = nullptr;
  Tables tables_;
  Uses uses_{tables_};
  ClaimRpc claim_rpc_{tables_};
  VolumeRpc volume_rpc_{tables_};
  ClaimKeeper keeper_{tables_};
};

}  // namespace
}  // namespace drover::volumes

DROVER_MODULE(drover::volumes::VolumesPlugin, "module", "volumes", "0.1.0");
