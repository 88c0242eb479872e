#include "rows.h"

#include "drover/api/variables.pb.h"
#include "tables.h"
#include "variables.pb.h"

namespace drover::variables {
namespace {

// Ties sealed items to their place.
std::string place_of(const v1::SealedVariable& row) { return variable_key(row); }

}  // namespace

v1::VariableMetadata metadata_of(const v1::SealedVariable& row) {
  v1::VariableMetadata metadata = row.metadata();
  if (metadata.has_lock()) metadata.mutable_lock()->clear_id();
  return metadata;
}

v1::Variable shown(const v1::SealedVariable& row, std::string items) {
  const v1::VariableMetadata metadata = metadata_of(row);
  v1::Variable variable;
  variable.set_namespace_(metadata.namespace_());
  variable.set_path(metadata.path());
  variable.set_create_index(metadata.create_index());
  variable.set_modify_index(metadata.modify_index());
  variable.set_create_time(metadata.create_time());
  variable.set_modify_time(metadata.modify_time());
  if (metadata.has_lock()) *variable.mutable_lock() = metadata.lock();
  variable.set_items(std::move(items));
  return variable;
}

Result<std::string> open_items(Keyring& keys, const v1::SealedVariable& row) {
  return keys.open(row.key_id(), row.sealed(), place_of(row));
}

Status seal_items(Keyring& keys, const ReadView& view, const std::string& items, v1::SealedVariable& row) {
  DROVER_TRY(Keyring::Sealed sealed, keys.seal(view, items, place_of(row)));
  row.set_key_id(std::move(sealed.key_id));
  row.set_sealed(std::move(sealed.bytes));
  return ok_status();
}

}  // namespace drover::variables
