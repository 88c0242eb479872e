// operator root keyring list, rotate, remove.
#include "cli_command.h"
#include "drover/api/keyring.pb.h"
#include "output.h"

namespace drover::cli {
namespace {

template <typename Keys>
std::string key_list(const Keys& keys, bool is_verbose) {
  std::vector<std::vector<std::string>> rows = {{"Key", "State", "Create Time"}};
  for (const v1::RootKey& key : keys)
    rows.push_back({id_text(key.key_id(), is_verbose), word(key.state()), full_time(key.create_time())});
  return format_list(rows);
}

int keyring_list(Run& run) {
  const auto list = run.client.call<v1::Keyring::List>({});
  if (!list) return run.fail("Error listing keyring", list.status());
  run.out << key_list(list->message.keys(), run.verbose());
  return 0;
}

int keyring_rotate(Run& run) {
  v1::RotateRootKeyRequest request;
  request.set_full(run.arguments.on("full"));
  const auto rotated = run.client.call<v1::Keyring::Rotate>(request);
  if (!rotated) return run.fail("Error rotating keyring", rotated.status());
  run.out << key_list(std::vector<v1::RootKey>{rotated->message.key()}, run.verbose());
  return 0;
}

// The key that was typed, by its whole identifier or its beginning.
Result<std::string> find_key(Run& run, const std::string& typed) {
  if (Uuid::parse(typed)) return typed;
  DROVER_TRY(const auto list, run.client.call<v1::Keyring::List>({}));
  std::vector<std::string> found;
  for (const v1::RootKey& key : list->keys()) {
    if (id_text(key.key_id()).starts_with(typed)) found.push_back(id_text(key.key_id()));
  }
  if (found.size() == 1) return found[0];
  if (found.empty()) return not_found("no root key begins with \"" + typed + "\"");
  return invalid_argument("several root keys begin with \"" + typed + "\"");
}

int keyring_remove(Run& run) {
  const auto id = find_key(run, run.arguments.positional()[0]);
  if (!id) return run.fail("Error removing root key", id.status());
  v1::DeleteRootKeyRequest request;
  request.set_key_id(*id);
  request.set_force(run.arguments.on("force"));
  const auto removed = run.client.call<v1::Keyring::Delete>(request);
  if (!removed) return run.fail("Error removing root key", removed.status());
  run.out << "Removed encryption key " << *id << "\n";
  return 0;
}

}  // namespace

std::vector<Definition> keyring_commands() {
  const Flag verbose = on_off("verbose", "Full identifiers");
  return {{"operator root keyring list", "Lists the root keys.", "", "", {verbose}, 0, 0, keyring_list},
          {"operator root keyring rotate",
           "Makes a new root key the active one.",
           "",
           "",
           {on_off("full", "Seal all variables anew with it"), verbose},
           0,
           0,
           keyring_rotate},
          {"operator root keyring remove",
           "Removes a root key that is neither active nor in use.",
           "<key ID>",
           "",
           {on_off("force", "Although something is sealed by it, which is lost then")},
           1,
           1,
           keyring_remove}};
}

}  // namespace drover::cli
