// The rule by which rows that a root key sealed may be written. In libdrover_api. Pure. [any]
#pragma once

#include <string_view>

#include "drover/keyring.h"
#include "drover/tables.h"

namespace drover {

// True for the active key, and for one that `user` has in use: a write that was under way when the key was replaced. A
// key that is neither never comes into use again, so that it may be removed (KeyUser). `root_keys`: the table of that
// name.
bool may_seal_by(const ReadView& view, TableId root_keys, const KeyUser& user, std::string_view key_id);

}  // namespace drover
