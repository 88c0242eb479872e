#include "rows.h"

#include "drover/api/variables.pb.h"
#include "rules.h"
#include "variables.pb.h"

namespace drover::variables {
namespace {

template <typename Message>
void copy_shown(const v1::SealedVariable& row, Message& out) {
  out.set_namespace_(row.namespace_());
  out.set_path(row.path());
  out.set_create_index(row.create_index());
  out.set_modify_index(row.modify_index());
  out.set_create_time(row.create_time());
  out.set_modify_time(row.modify_time());
  if (!row.has_lock()) return;
  *out.mutable_lock() = row.lock();
  out.mutable_lock()->clear_id();
}

}  // namespace

v1::VariableMetadata metadata_of(const v1::SealedVariable& row) {
  v1::VariableMetadata metadata;
  copy_shown(row, metadata);
  return metadata;
}

v1::Variable shown(const v1::SealedVariable& row, std::string items) {
  v1::Variable variable;
  copy_shown(row, variable);
  variable.set_items(std::move(items));
  return variable;
}

Result<std::string> open_items(Keyring& keys, const v1::SealedVariable& row) {
  return keys.open(row.key_id(), row.sealed(), place_of(row.namespace_(), row.path()));
}

Status seal_items(Keyring& keys, const ReadView& view, const std::string& items, v1::SealedVariable& row) {
  DROVER_TRY(Keyring::Sealed sealed, keys.seal(view, items, place_of(row.namespace_(), row.path())));
  row.set_key_id(std::move(sealed.key_id));
  row.set_sealed(std::move(sealed.bytes));
  return ok_status();
}

}  // namespace drover::variables
