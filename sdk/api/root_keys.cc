#include "drover/root_keys.h"

#include "drover/api/keyring.pb.h"

namespace drover {

bool may_seal_by(const ReadView& view, TableId root_keys, const KeyUser& user, std::string_view key_id) {
  const auto key = Table<v1::RootKey>(root_keys).get(view, key_id);
  return key && (key->state() == v1::ROOT_KEY_STATE_ACTIVE || user.uses(view, key_id, 1) > 0);
}

}  // namespace drover
