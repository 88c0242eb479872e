// The handlers of the services Keyring and KeyringReplication.
#pragma once

#include "drover/plugin.h"
#include "keys.h"
#include "leader.h"
#include "tables.h"
#include "users.h"

namespace drover::v1 {
class DeleteRootKeyRequest;
class DeleteRootKeyResponse;
class GetKeyMaterialRequest;
class HoldKeyMaterialRequest;
class HoldKeyMaterialResponse;
class KeyMaterialResponse;
class ListRootKeysRequest;
class ListRootKeysResponse;
class RotateRootKeyRequest;
class RotateRootKeyResponse;
}  // namespace drover::v1

namespace drover::keyring {

class Rpc {
 public:
  Rpc(const Tables& tables, const Users& users, Keys& keys, Leader& leader)
      : tables_(tables), users_(users), keys_(keys), leader_(leader) {}
  Status declare(Declarations& declare);
  Status declare_between_servers(Declarations& declare);
  void start(Host& host) { host_ = &host; }

 private:
  Result<v1::ListRootKeysResponse> list(const v1::ListRootKeysRequest& request, Call& call);
  Result<v1::RotateRootKeyResponse> rotate(const v1::RotateRootKeyRequest& request, Call& call);
  Result<Write<v1::DeleteRootKeyResponse>> erase(const v1::DeleteRootKeyRequest& request, Call& call);
  Result<v1::KeyMaterialResponse> get(const v1::GetKeyMaterialRequest& request, Call& call);
  Result<v1::HoldKeyMaterialResponse> hold(const v1::HoldKeyMaterialRequest& request, Call& call);

  Status check_unused(const ReadView& view, const std::string& key_id) const;

  const Tables& tables_;
  const Users& users_;
  Keys& keys_;
  Leader& leader_;
  Host* host_ = nullptr;
};

}  // namespace drover::keyring
