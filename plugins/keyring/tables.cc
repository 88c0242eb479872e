#include "tables.h"

#include "drover/api/keyring.pb.h"
#include "keyring.pb.h"

namespace drover::keyring {
namespace {

// These do not ask whether anything is sealed by a key: plugins that know find each other only after the log has been
// read at an agent's start. Who proposes the commands asks, and the answer "nothing" stays true (KeyUser).
class Commands {
 public:
  explicit Commands(const Tables& tables) : tables_(tables) {}

  Result<std::string> activated(const v1::RootKeyActivated& command, ApplyContext& context) const {
    for (v1::RootKey& key : tables_.keys.list(context.rows(), kPrimary, KeyRange::all())) {
      if (key.key_id() == command.key().key_id()) return already_exists("the root key is there already");
      const v1::RootKeyState before = key.state();
      if (command.rekey()) {
        key.set_state(v1::ROOT_KEY_STATE_REKEYING);
      } else if (before == v1::ROOT_KEY_STATE_ACTIVE) {
        key.set_state(v1::ROOT_KEY_STATE_INACTIVE);
      }
      if (key.state() == before) continue;
      key.set_modify_index(context.index());
      DROVER_RETURN_IF_ERROR(tables_.keys.put(context.rows(), key));
    }
    v1::RootKey key = command.key();
    key.set_state(v1::ROOT_KEY_STATE_ACTIVE);
    key.set_create_index(context.index());
    key.set_modify_index(context.index());
    DROVER_RETURN_IF_ERROR(tables_.keys.put(context.rows(), key));
    return serialize(key);
  }

  Result<std::string> emptied(const v1::RootKeyEmptied& command, ApplyContext& context) const {
    auto key = tables_.keys.get(context.rows(), command.key_id());
    if (!key || key->state() != v1::ROOT_KEY_STATE_REKEYING) return std::string();
    key->set_state(v1::ROOT_KEY_STATE_INACTIVE);
    key->set_modify_index(context.index());
    DROVER_RETURN_IF_ERROR(tables_.keys.put(context.rows(), *key));
    return std::string();
  }

  Result<std::string> removed(const v1::RootKeyRemoved& command, ApplyContext& context) const {
    const auto key = tables_.keys.get(context.rows(), command.key_id());
    if (!key) return std::string();
    DROVER_RETURN_IF_ERROR(may_remove(*key));
    tables_.keys.erase(context.rows(), command.key_id());
    v1::RemovedRootKey mark;
    mark.set_key_id(command.key_id());
    mark.set_time(command.time());
    DROVER_RETURN_IF_ERROR(tables_.removed.put(context.rows(), mark));
    return std::string();
  }

 private:
  const Tables& tables_;
};

}  // namespace

Status declare_tables(Declarations& declare, Tables& tables) {
  DROVER_TRY(tables.keys, declare.table<v1::RootKey>("root_keys", {}, [](const v1::RootKey& key, RowKeys& keys) {
    keys.primary(key.key_id());
  }));
  DROVER_TRY(tables.removed,
             declare.table<v1::RemovedRootKey>("removed_root_keys", {},
                                               [](const v1::RemovedRootKey& mark, RowKeys& keys) {
                                                 keys.primary(mark.key_id());
                                               }));
  auto commands = std::make_shared<Commands>(tables);
  DROVER_RETURN_IF_ERROR(declare.command<&Commands::activated>(commands));
  DROVER_RETURN_IF_ERROR(declare.command<&Commands::emptied>(commands));
  return declare.command<&Commands::removed>(commands);
}

std::optional<v1::RootKey> active_key(const ReadView& view, const Tables& tables) {
  std::optional<v1::RootKey> active;
  tables.keys.scan(view, kPrimary, KeyRange::all(), [&](v1::RootKey& key, std::string_view) {
    if (key.state() == v1::ROOT_KEY_STATE_ACTIVE) active = std::move(key);
    return !active;
  });
  return active;
}

Status may_remove(const v1::RootKey& key) {
  if (key.state() != v1::ROOT_KEY_STATE_ACTIVE) return ok_status();
  return invalid_argument("active root key cannot be deleted - call rotate first");
}

}  // namespace drover::keyring
