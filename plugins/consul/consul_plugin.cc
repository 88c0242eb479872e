// Consul, where the agent's configuration has a block `consul`: services and their checks, attributes of the node,
// functions of templates, tokens of tasks, and agents that find each other.
#include <cstdlib>

#include "health/check_relay.h"
#include "config.h"
#include "drover/config.h"
#include "drover/module.h"
#include "drover/v1/task.pb.h"
#include "joining/joiner.h"
#include "node/consul_fingerprint.h"
#include "node/own_services.h"
#include "services/consul_provider.h"
#include "templates/consul_source.h"
#include "tokens/implied_identity.h"
#include "tokens/task_tokens.h"

namespace drover::consul {
namespace {

class ConsulPlugin final : public Plugin {
 public:
  Status declare(Declarations& declare) override {
    DROVER_RETURN_IF_ERROR(declare.configuration("consul", config_schema()));
    DROVER_RETURN_IF_ERROR(declare.extend<ServiceProvider>("consul", provider_));
    DROVER_RETURN_IF_ERROR(declare.extend<RegistryChecks>("consul", relay_));
    DROVER_RETURN_IF_ERROR(declare.extend<TemplateSource>("consul", source_));
    DROVER_RETURN_IF_ERROR(declare.extend<TaskHook>("consul", token_hook_));
    DROVER_RETURN_IF_ERROR(declare.extend<ImpliedIdentity>("consul", identity_));
    DROVER_RETURN_IF_ERROR(declare.extend<HeardServers>("consul", client_search_));
    return declare.extend<NodeFingerprint>("consul", fingerprint_);
  }

  Status start(Host& host) override {
    const ConfigBlock* block = host.configuration("consul");
    if (!block || block->place.file.empty()) return ok_status();  // the operator wrote none, and gave no flag
    DROVER_TRY(config_, read_config(*block, [](const std::string& name) {
                 const char* value = std::getenv(name.c_str());
                 return std::string(value ? value : "");
               }));
    client_ = std::make_shared<const ConsulClient>(config_.endpoint);
    identity_.start(config_.task_identity);
    if (host.agent().server && config_.server_joins) server_search_.start(host, *client_, config_.server_service);
    if (host.agent().client && !host.agent().server && config_.client_joins)
      client_search_.start(*client_, config_.server_service);
    if (config_.advertises) own_.start(*client_, own_services(host.agent(), api_access(host), config_));
    if (host.agent().client) {
      relay_.start(*client_, host.clock());
      provider_.start(*client_, host.clock(), host.metrics(),
                      [this](const auto& namespaces) { relay_.look_soon(namespaces); });
      logouts_.start(host, client_);
      token_setup_ = {.host = &host,
                      .client = client_,
                      .auth_method = config_.task_auth_method,
                      .known = &tokens_,
                      .logouts = &logouts_,
                      .identities = [&host] { return host.extension<TaskTokens>("identity"); }};
      source_.start(client_, [this](const HookedTask& task) { return tokens_.of(task); });
      fingerprint_.start(*client_);
    }
    return ok_status();
  }

  void stop(SteadyTime) override {
    server_search_.stop();
    client_search_.stop();
    own_.stop();
    fingerprint_.stop();
    source_.stop();
    logouts_.stop();
    relay_.stop();
  }

 private:
  static ApiAccess api_access(const Host& host) {
    const ConfigBlock* tls = host.configuration("tls");
    if (!tls) return {};
    const bool has_tls = tls->boolean("http");
    return {.has_tls = has_tls, .wants_certificates = has_tls && tls->boolean("verify_https_client")};
  }

  Config config_;
  std::shared_ptr<const ConsulClient> client_;  // null: there is no block
  CheckRelay relay_;
  ConsulProvider provider_;
  ConsulIdentity identity_;
  KnownTokens tokens_;
  Logouts logouts_;
  TokenSetup token_setup_;
  ConsulTokenHook token_hook_{token_setup_};
  ConsulSource source_;
  ConsulFingerprint fingerprint_;
  ServerSearch server_search_;
  ClientSearch client_search_;
  OwnServices own_;
};

}  // namespace
}  // namespace drover::consul

DROVER_MODULE(drover::consul::ConsulPlugin, "module", "consul", "0.1.0");
