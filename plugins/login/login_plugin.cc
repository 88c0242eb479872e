// Logins: who may have a token of the cluster by what another one says of them.
#include "drover/config.h"
#include "drover/module.h"
#include "rpc.h"
#include "tables.h"

namespace drover::login {
namespace {

class LoginPlugin final : public Plugin {
 public:
  Status declare(Declarations& declare) override {
    DROVER_RETURN_IF_ERROR(declare_tables(declare, tables_));
    return rpc_.declare(declare);
  }
  Status start(Host& host) override {
    Settings settings;
    if (const ConfigBlock* acl = host.configuration("acl")) {
      settings.is_enabled = acl->boolean("enabled");
      settings.lifetimes = {acl->duration("token_min_expiration_ttl"), acl->duration("token_max_expiration_ttl")};
    }
    rpc_.start(host, settings);
    return ok_status();
  }
  void stop(SteadyTime) override {}

 private:
  Tables tables_;
  Rpc rpc_{tables_};
};

}  // namespace
}  // namespace drover::login

DROVER_MODULE(drover::login::LoginPlugin, "module", "login", "0.1.0");
