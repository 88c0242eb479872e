// The handlers by which the keys of the gossip are listed and changed on all servers.
#pragma once

#include <string>
#include <vector>

#include "drover/plugin.h"
#include "drover/server_directory.h"
#include "drover/turns.h"
#include "keys/server_keys.h"

namespace drover::v1 {
class GossipKeyRequest;
class GossipKeyStepRequest;
class GossipKeyStepResponse;
class GossipKeysResponse;
class ListGossipKeysRequest;
}  // namespace drover::v1

namespace drover::gossip {

class KeyRpc {
 public:
  // Both outlive it.
  KeyRpc(ServerKeyring& keyring, const ServerDirectory& directory) : keyring_(keyring), directory_(directory) {}
  Status declare(Declarations& declare);
  void start(Host& host) { host_ = &host; }

 private:
  Result<drover::v1::GossipKeysResponse> list(const drover::v1::ListGossipKeysRequest& request, Call& call);
  Result<drover::v1::GossipKeysResponse> install(const drover::v1::GossipKeyRequest& request, Call& call);
  Result<drover::v1::GossipKeysResponse> use(const drover::v1::GossipKeyRequest& request, Call& call);
  Result<drover::v1::GossipKeysResponse> remove(const drover::v1::GossipKeyRequest& request, Call& call);
  Result<drover::v1::GossipKeyStepResponse> step(const drover::v1::GossipKeyStepRequest& request, Call& call);

  Result<drover::v1::GossipKeysResponse> on_all(Step step, const std::string& key, Call& call);
  std::vector<ServerKeys> ask_all(Step step, const std::string& key,
                                  const std::vector<ServerMember>& servers, const Call& call);

  ServerKeyring& keyring_;
  const ServerDirectory& directory_;
  Host* host_ = nullptr;
  Turns turns_;  // one step after the other
};

}  // namespace drover::gossip
