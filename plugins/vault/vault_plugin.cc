// Secrets from Vault. On nodes: tokens of tasks, obtained with their signed identities, and templates that read with
// them. On servers the block `vault` says that jobs may use it, and which identity their tasks get for it.
#include <cstdlib>

#include "config.h"
#include "drover/module.h"
#include "implied_identity.h"
#include "node/fingerprint.h"
#include "node/vault_hook.h"
#include "templates/secret_functions.h"

namespace drover::vault {
namespace {

std::string variable(const char* name) {
  const char* value = std::getenv(name);
  return value ? value : "";
}

class VaultPlugin final : public Plugin {
 public:
  Status declare(Declarations& declare) override {
    DROVER_RETURN_IF_ERROR(declare.configuration("vault", schema()));
    DROVER_RETURN_IF_ERROR(declare.extend<NodeFingerprint>("vault", fingerprint_));
    DROVER_RETURN_IF_ERROR(declare.extend<ImpliedIdentity>("vault", implied_));
    DROVER_RETURN_IF_ERROR(declare.extend<TemplateSource>("vault", functions_));
    return declare.extend<TaskHook>("vault", hook_);
  }

  Status start(Host& host) override {
    DROVER_TRY(config_, read_config(host.configuration("vault"), variable));
    const ConfigBlock* own = host.configuration("vault");
    if (config_.is_enabled) implied_.start(read_default_identity(own ? own->block("default_identity") : nullptr));
    client_.emplace(config_);
    hook_.start({.host = host, .config = config_, .client = *client_, .vaults = vaults_, .revoker = revoker_});
    functions_.start({.host = host, .config = config_, .client = *client_, .vaults = vaults_});
    if (!host.agent().client || !config_.is_enabled) return ok_status();
    fingerprint_.start(host, *client_);
    return revoker_.start(host, *client_);
  }
  void stop(SteadyTime) override {
    fingerprint_.stop();
    functions_.stop();
    revoker_.stop();
  }

 private:
  Config config_;
  std::optional<VaultClient> client_;
  TaskVaults vaults_;
  Revoker revoker_;
  Fingerprint fingerprint_;
  VaultIdentity implied_;
  VaultHook hook_;
  SecretFunctions functions_;
};

}  // namespace
}  // namespace drover::vault

DROVER_MODULE(drover::vault::VaultPlugin, "module", "vault", "0.1.0");
