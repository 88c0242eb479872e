// Logins: who may have a token of the cluster by what another one says of them.
#include "config_secrets.h"
#include "drover/config.h"
#include "drover/log.h"
#include "drover/module.h"
#include "drover/pause.h"
#include "login.pb.h"
#include "rpc.h"
#include "tables.h"

namespace drover::login {
namespace {

constexpr auto kLookEvery = std::chrono::seconds(10);
constexpr auto kProposeTime = std::chrono::seconds(10);

class LoginPlugin final : public Plugin {
 public:
  Status declare(Declarations& declare) override {
    DROVER_RETURN_IF_ERROR(declare_tables(declare, tables_));
    DROVER_RETURN_IF_ERROR(rpc_.declare(declare));
    return declare.extend<KeyUser>("login", uses_);
  }
  Status start(Host& host) override {
    host_ = &host;
    Settings settings;
    if (const ConfigBlock* acl = host.configuration("acl")) {
      settings.is_enabled = acl->boolean("enabled");
      settings.lifetimes = {acl->duration("token_min_expiration_ttl"), acl->duration("token_max_expiration_ttl")};
    }
    secrets_.start(host.extension<Keyring>("keyring"));
    rpc_.start(host, settings);
    return ok_status();
  }
  void lead(std::stop_token stop) override {
    told_failed_ = 0;
    do {
      reseal(stop);
    } while (pause_for(kLookEvery, stop));
  }
  void stop(SteadyTime) override {}

 private:
  // Secrets that a root key seals which is to be emptied, and those that a former version left unsealed.
  void reseal(const std::stop_token& stop) {
    size_t failed = 0;
    const auto command = secrets_.next_resealed(*host_->snapshot(), tables_, failed);
    if (failed > 0 && failed != told_failed_)
      log::warn("login", "the secrets of auth methods cannot be sealed by the active root key", {{"methods", failed}});
    told_failed_ = failed;
    if (!command) return;
    const Status status = host_->propose(*command, host_->clock().steady() + kProposeTime).status();
    if (!status.ok() && !stop.stop_requested())
      log::warn("login", "the secrets of auth methods are not sealed anew yet", {{"error", status.message()}});
  }

  Host* host_ = nullptr;
  Tables tables_;
  Uses uses_{tables_};
  ConfigSecrets secrets_;
  Rpc rpc_{tables_, secrets_};
  size_t told_failed_ = 0;  // [lead]
};

}  // namespace
}  // namespace drover::login

DROVER_MODULE(drover::login::LoginPlugin, "module", "login", "0.1.0");
