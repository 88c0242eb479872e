// Identities of tasks. On servers: tokens that the keyring signs, and how they are verified. On nodes: giving them to
// the tasks, and the API at a socket of each task.
#include "drover/config.h"
#include "drover/module.h"
#include "node/api_hook.h"
#include "node/identity_hook.h"
#include "node/signing.h"
#include "server/rpc.h"

namespace drover::identity {
namespace {

class IdentityPlugin final : public Plugin {
 public:
  Status declare(Declarations& declare) override {
    DROVER_RETURN_IF_ERROR(declare_tables(declare, tables_));
    DROVER_RETURN_IF_ERROR(rpc_.declare(declare));
    DROVER_RETURN_IF_ERROR(declare.configuration(
        "server", {.options = {{.name = "oidc_issuer",
                                .help = "The URL at which others find /.well-known/openid-configuration of this "
                                        "cluster; the issuer in the tokens of tasks."}}}));
    DROVER_RETURN_IF_ERROR(declare.extend<KeyUser>("identity", signed_tokens_));
    DROVER_RETURN_IF_ERROR(declare.extend<TaskTokens>("identity", signing_));
    DROVER_RETURN_IF_ERROR(declare.extend<TaskHook>("identity", identity_hook_));
    return declare.extend<TaskHook>("api", api_hook_);
  }

  Status start(Host& host) override {
    signing_.start(host);
    identity_hook_.start(host);
    api_hook_.start(host);
    if (!host.agent().server) return ok_status();
    Keyring* keys = host.extension<Keyring>("keyring");
    if (!keys) return failed_precondition("the plugin identity needs the plugin keyring on servers");
    const ConfigBlock* server = host.configuration("server");
    std::string issuer = server ? server->string("oidc_issuer", "") : "";
    if (!issuer.empty() && !issuer.starts_with("https://") && !issuer.starts_with("http://"))
      return invalid_argument("server: oidc_issuer must be a URL that begins with https://: \"" + issuer + "\"");
    while (issuer.ends_with('/')) issuer.pop_back();
    rpc_.start(host, *keys, std::move(issuer));
    return ok_status();
  }
  void stop(SteadyTime) override {}

 private:
  Tables tables_;
  Rpc rpc_{tables_};
  SignedTokens signed_tokens_{tables_};
  Signing signing_;
  IdentityHook identity_hook_{signing_};
  ApiHook api_hook_;
};

}  // namespace
}  // namespace drover::identity

DROVER_MODULE(drover::identity::IdentityPlugin, "module", "identity", "0.1.0");
