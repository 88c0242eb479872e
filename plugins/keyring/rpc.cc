#include "rpc.h"

#include "drover/api/keyring.pb.h"
#include "drover/log.h"
#include "keyring.pb.h"

namespace drover::keyring {
namespace {

constexpr uint64_t kCountedUses = 1000;

}  // namespace

Status Rpc::declare(Declarations& declare) {
  return declare.service("drover.v1.Keyring",
                         {method<&Rpc::list>("List", this), method<&Rpc::rotate>("Rotate", this),
                          method<&Rpc::erase>("Delete", this)});
}

Status Rpc::declare_between_servers(Declarations& declare) {
  return declare.service("drover.v1.KeyringReplication",
                         {method<&Rpc::get>("Get", this), method<&Rpc::hold>("Hold", this)});
}

Result<v1::ListRootKeysResponse> Rpc::list(const v1::ListRootKeysRequest&, Call& call) {
  v1::ListRootKeysResponse response;
  for (v1::RootKey& key : tables_.keys.list(call.view(), kPrimary, KeyRange::all()))
    *response.add_keys() = std::move(key);
  call.set_index(call.view().table_index(tables_.keys.id()));
  return response;
}

Result<v1::RotateRootKeyResponse> Rpc::rotate(const v1::RotateRootKeyRequest& request, Call& call) {
  if (!request.algo().empty() && request.algo() != kAlgorithm)
    return invalid_argument("root key algorithm \"" + request.algo() + "\" is not known; it is " + kAlgorithm);
  DROVER_TRY(const Applied applied, leader_.rotate(request.full(), call.stop()));
  DROVER_TRY(v1::RootKey key, parse_message<v1::RootKey>(applied.answer));
  log::info("keyring", "rotated the root key for an operator",
            {{"id", key_text(key.key_id())}, {"full", request.full()}});
  v1::RotateRootKeyResponse response;
  *response.mutable_key() = std::move(key);
  response.set_index(applied.index);
  call.set_index(applied.index);
  return response;
}

// Errors: invalid_argument, with the number of uses.
Status Rpc::check_unused(const ReadView& view, const std::string& key_id) const {
  const uint64_t uses = users_.uses(view, key_id, kCountedUses);
  if (uses == 0) return ok_status();
  return invalid_argument("root key " + key_text(key_id) + " is in use by " +
                          (uses == kCountedUses ? "at least " : "") + std::to_string(uses) +
                          " variables, versions of them, or running allocations with tokens of it; rotate with -full " +
                          "first, or remove it with -force and lose them");
}

Result<Write<v1::DeleteRootKeyResponse>> Rpc::erase(const v1::DeleteRootKeyRequest& request, Call& call) {
  if (request.key_id().empty()) return invalid_argument("root key ID is required");
  const auto id = Uuid::parse(request.key_id());
  if (!id) return invalid_argument("root key ID \"" + request.key_id() + "\" is no UUID");
  const auto key = tables_.keys.get(call.view(), id->bytes());
  if (!key) return Write<v1::DeleteRootKeyResponse>(v1::DeleteRootKeyResponse());
  DROVER_RETURN_IF_ERROR(may_remove(*key));
  if (!request.force()) DROVER_RETURN_IF_ERROR(check_unused(call.view(), key->key_id()));
  v1::RootKeyRemoved command;
  command.set_key_id(id->bytes());
  command.set_time(host_->clock().wall_ns());
  return Write<v1::DeleteRootKeyResponse>(command, [](const Applied& applied) -> Result<v1::DeleteRootKeyResponse> {
    v1::DeleteRootKeyResponse response;
    response.set_index(applied.index);
    return response;
  });
}

Result<v1::KeyMaterialResponse> Rpc::get(const v1::GetKeyMaterialRequest& request, Call&) {
  const auto key = keys_.find(request.key_id());
  if (!key) return no_such_key(request.key_id());
  v1::KeyMaterialResponse response;
  *response.mutable_key() = key->message();
  return response;
}

Result<v1::HoldKeyMaterialResponse> Rpc::hold(const v1::HoldKeyMaterialRequest& request, Call&) {
  DROVER_RETURN_IF_ERROR(keys_.add(request.key()));
  return v1::HoldKeyMaterialResponse();
}

}  // namespace drover::keyring
