#include "secrets.h"

#include <nlohmann/json.hpp>

#include "drover/log.h"
#include "drover/schema.h"
#include "drover/v1/csi.pb.h"
#include "volumes.pb.h"

namespace drover::volumes {
namespace {

constexpr int kResealedAtOnce = 100;

std::string place_of(const std::string& name_space, const std::string& volume_id) {
  return "csi_volume:" + csi_volume_key(name_space, volume_id);
}

bool seal_anew(Keyring& keys, const ReadView& view, const std::string& name_space, const std::string& volume_id,
               v1::SealedSecrets& secrets) {
  Texts open;
  if (!open_secrets(keys, secrets, name_space, volume_id, open).ok()) return false;
  auto sealed = seal_secrets(keys, view, open, name_space, volume_id);
  if (sealed) secrets = *std::move(sealed);
  return sealed.ok();
}

}  // namespace

Result<v1::SealedSecrets> seal_secrets(Keyring& keys, const ReadView& view, const Texts& secrets,
                                       const std::string& name_space, const std::string& volume_id) {
  nlohmann::json items = nlohmann::json::object();
  for (const auto& [name, value] : secrets) items[name] = value;
  DROVER_TRY(Keyring::Sealed sealed,
             keys.seal(view, items.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace),
                       place_of(name_space, volume_id)));
  v1::SealedSecrets out;
  out.set_key_id(std::move(sealed.key_id));
  out.set_sealed(std::move(sealed.bytes));
  return out;
}

Status open_secrets(Keyring& keys, const v1::SealedSecrets& sealed, const std::string& name_space,
                    const std::string& volume_id, Texts& out) {
  if (sealed.sealed().empty()) return ok_status();
  DROVER_TRY(const std::string text, keys.open(sealed.key_id(), sealed.sealed(), place_of(name_space, volume_id)));
  const nlohmann::json items = nlohmann::json::parse(text, nullptr, false);
  if (!items.is_object()) return data_loss("the secrets of volume " + volume_id + " are damaged");
  for (const auto& [name, value] : items.items()) {
    if (value.is_string()) out[name] = value.get<std::string>();
  }
  return ok_status();
}

std::optional<v1::CsiSecretsResealed> next_resealed(const ReadView& view, const Tables& tables, Keyring& keys) {
  v1::CsiSecretsResealed command;
  for (const std::string& id : keys.retiring(view)) {
    tables.volumes.scan(view, kVolumesByKey, of_id(id), [&](v1::CsiVolume& row, std::string_view) {
      if (seal_anew(keys, view, row.namespace_(), row.id(), *row.mutable_secrets()))
        *command.add_volumes() = std::move(row);
      return command.volumes_size() < kResealedAtOnce;
    });
    tables.claims.scan(view, kClaimsByKey, of_id(id), [&](v1::CsiClaim& row, std::string_view) {
      if (seal_anew(keys, view, row.namespace_(), row.volume_id(), *row.mutable_secrets()))
        *command.add_claims() = std::move(row);
      return command.claims_size() < kResealedAtOnce;
    });
  }
  if (command.volumes().empty() && command.claims().empty()) return std::nullopt;
  return command;
}

}  // namespace drover::volumes
