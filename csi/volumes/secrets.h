// Secrets of volumes: sealed where they are kept, open only on their way to a plugin. [any]
#pragma once

#include <map>
#include <optional>
#include <string>

#include "drover/keyring.h"
#include "tables.h"

namespace google::protobuf {
template <typename Key, typename Value>
class Map;
}
namespace drover::v1 {
class CsiSecretsResealed;
class SealedSecrets;
}  // namespace drover::v1

namespace drover::volumes {

using Texts = google::protobuf::Map<std::string, std::string>;

// Tied to the volume of that name. Errors: as Keyring::seal.
Result<v1::SealedSecrets> seal_secrets(Keyring& keys, const ReadView& view, const Texts& secrets,
                                       const std::string& name_space, const std::string& volume_id);
// Nothing sealed: nothing. Errors: as Keyring::open.
Status open_secrets(Keyring& keys, const v1::SealedSecrets& sealed, const std::string& name_space,
                    const std::string& volume_id, Texts& out);

// The next step of sealing anew what stands under keys that are being emptied; nothing when there is nothing to do.
std::optional<v1::CsiSecretsResealed> next_resealed(const ReadView& view, const Tables& tables, Keyring& keys);

}  // namespace drover::volumes
