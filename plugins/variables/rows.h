// From sealed rows to what the API shows of them.
#pragma once

#include "drover/keyring.h"

namespace drover::v1 {
class SealedVariable;
class Variable;
class VariableMetadata;
}  // namespace drover::v1

namespace drover::variables {

// Without the identifier of its lock.
v1::VariableMetadata metadata_of(const v1::SealedVariable& row);
// With the items as this JSON; empty: they are not shown.
v1::Variable shown(const v1::SealedVariable& row, std::string items);
// Errors: as Keyring::open.
Result<std::string> open_items(Keyring& keys, const v1::SealedVariable& row);
// Sets the key and the sealed items of the row. Errors: as Keyring::seal.
Status seal_items(Keyring& keys, const ReadView& view, const std::string& items, v1::SealedVariable& row);

}  // namespace drover::variables
