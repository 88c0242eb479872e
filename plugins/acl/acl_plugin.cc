// Access control: who calls, and what their policies allow.
#include <atomic>

#include "acl.pb.h"
#include "client_resolver.h"
#include "drover/config.h"
#include "drover/log.h"
#include "drover/module.h"
#include "drover/pause.h"
#include "drover/v1/acl.pb.h"
#include "rpc.h"
#include "server_resolver.h"
#include "tables.h"
#include "token_secrets.h"

namespace drover::acl {
namespace {

constexpr auto kLookEvery = std::chrono::seconds(10);
constexpr auto kCollectEvery = std::chrono::minutes(5);
constexpr auto kKeptAfterEnd = std::chrono::hours(1);  // people look for what became of a token
constexpr int kMostAtOnce = 4096;
constexpr auto kProposeTime = std::chrono::seconds(10);

class AclPlugin final : public Plugin, public AccessControl {
 public:
  Status declare(Declarations& declare) override {
    DROVER_RETURN_IF_ERROR(declare_tables(declare, tables_));
    DROVER_RETURN_IF_ERROR(rpc_.declare(declare));
    DROVER_RETURN_IF_ERROR(declare.extend<WorkloadRights>("acl", server_));
    DROVER_RETURN_IF_ERROR(declare.extend<KeyUser>("acl", uses_));
    return declare.extend<AccessControl>("acl", *this);
  }

  Status start(Host& host) override {
    host_ = &host;
    Settings settings;
    TrustedFor trusted;
    if (const ConfigBlock* acl = host.configuration("acl")) {
      settings.is_enabled = acl->boolean("enabled");
      settings.lifetimes = {acl->duration("token_min_expiration_ttl"), acl->duration("token_max_expiration_ttl")};
      trusted = {acl->duration("token_ttl"), acl->duration("policy_ttl"), acl->duration("role_ttl")};
    }
    secrets_.start(host.extension<Keyring>("keyring"));
    rpc_.start(host, settings);
    if (host.agent().server) {
      server_.start(host, settings.is_enabled);
    } else {
      client_.start(host, trusted);
    }
    has_started_.store(true, std::memory_order_release);
    return ok_status();
  }

  void authenticate(const CallContext& context, std::function<void(Result<Identity>)> done) override {
    if (!has_started_.load(std::memory_order_acquire)) return done(unavailable("this agent is starting"));
    if (host_->agent().server) return done(server_.resolve(context));
    client_.resolve(context, std::move(done));
  }

  void lead(std::stop_token stop) override {
    SteadyTime next_collection = host_->clock().steady() + kCollectEvery;
    while (pause_for(kLookEvery, stop)) {
      Status status = reseal();
      if (status.ok() && host_->clock().steady() >= next_collection) {
        next_collection = host_->clock().steady() + kCollectEvery;
        status = collect();
      }
      if (!status.ok() && !stop.stop_requested())
        log::warn("acl", "tokens are not tidied up yet", {{"error", status.message()}});
    }
  }
  void stop(SteadyTime) override {}

 private:
  // Secrets that a root key seals which is to be emptied.
  Status reseal() {
    const auto command = secrets_.next_resealed(*host_->snapshot(), tables_);
    if (!command) return ok_status();
    return host_->propose(*command, host_->clock().steady() + kProposeTime).status();
  }

  Status collect() {
    const auto view = host_->snapshot();
    const int64_t now = host_->clock().wall_ns();
    v1::AclTokensDeleted ended;
    tables_.tokens.scan(*view, kTokensByEnd, KeyRange::all(), [&](const v1::AclToken& token, std::string_view) {
      if (token.expiration_time() + std::chrono::nanoseconds(kKeptAfterEnd).count() > now) return false;
      ended.add_accessor_ids(token.accessor_id());
      return ended.accessor_ids_size() < kMostAtOnce;
    });
    v1::OneTimeTokensUsed unused;
    tables_.one_time_tokens.scan(*view, kPrimary, KeyRange::all(), [&](const v1::OneTimeToken& made, std::string_view) {
      if (made.expires_at() <= now) unused.add_accessor_ids(made.accessor_id());
      return unused.accessor_ids_size() < kMostAtOnce;
    });
    const SteadyTime deadline = host_->clock().steady() + kProposeTime;
    if (!ended.accessor_ids().empty()) DROVER_RETURN_IF_ERROR(host_->propose(ended, deadline).status());
    if (!unused.accessor_ids().empty()) DROVER_RETURN_IF_ERROR(host_->propose(unused, deadline).status());
    return ok_status();
  }

  Host* host_ = nullptr;
  Tables tables_;
  Uses uses_{tables_};
  TokenSecrets secrets_;
  ServerResolver server_{tables_};
  Rpc rpc_{tables_, server_, secrets_};
  ClientResolver client_;
  std::atomic<bool> has_started_{false};
};

}  // namespace
}  // namespace drover::acl

DROVER_MODULE(drover::acl::AclPlugin, "module", "acl", "0.1.0");
