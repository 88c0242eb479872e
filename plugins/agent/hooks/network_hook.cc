#include "client_hook.h"
#include "drover/methods.h"
#include "group_network.h"

#include "agent_state.pb.h"

namespace drover::agent {
namespace {

constexpr std::string_view kNetwork = "network";  // StoredNetwork, while there is one

class Network final : public AllocHook::Part {
 public:
  Network(const Client& client, HookedAlloc& alloc, HookState& state) : client_(client), alloc_(alloc), state_(state) {}

  Status prerun(std::stop_token) override {
    const AllocSpecPtr spec = alloc_.spec();
    DROVER_TRY(const std::optional<StoredNetwork> before, stored());
    if (!before && (!spec->group || !has_own_network(*spec->group))) return ok_status();
    DROVER_TRY(const StoredNetwork network, before ? restore_network(client_, alloc_.id(), *before)
                                                   : set_up_network(client_, *spec));
    // Before anybody is in it, so that it is torn down whatever happens.
    DROVER_RETURN_IF_ERROR(state_.put(kNetwork, network.SerializeAsString()));
    alloc_.share_network(network.spec());
    return ok_status();
  }
  Status postrun() override {
    DROVER_TRY(const std::optional<StoredNetwork> network, stored());
    if (!network) return ok_status();
    DROVER_RETURN_IF_ERROR(tear_down_network(client_, alloc_.id(), *network));
    return state_.put(kNetwork, "");
  }

 private:
  Result<std::optional<StoredNetwork>> stored() const {
    const auto bytes = state_.get(kNetwork);
    if (!bytes) return std::optional<StoredNetwork>();
    DROVER_TRY(StoredNetwork network, parse_message<StoredNetwork>(*bytes));
    return std::optional(std::move(network));
  }

  const Client& client_;
  HookedAlloc& alloc_;
  HookState& state_;
};

}  // namespace

std::unique_ptr<AllocHook> network_hook(const ClientSlot& client) {
  return std::make_unique<ClientHook<Network>>(
      client, HookInfo{.name = "network", .after = {"alloc_dir"}, .supports = {"network.none"}});
}

}  // namespace drover::agent
