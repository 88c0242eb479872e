// The fields that the servers give a policy, a token or a role, whatever a request says. Pure.
#pragma once

#include <cstdint>

#include "drover/messages.h"
#include "drover/sha256.h"

namespace drover::acl {

template <typename Row>
void clear_servers_fields(Row& row) {
  row.clear_hash();
  row.clear_create_index();
  row.clear_modify_index();
}

// The digest of the content. Requires: the servers' fields are clear.
template <typename Row>
void set_hash(Row& row) {
  row.set_hash(sha256(serialize(row)));
}

// The indexes as the row has them after that entry of the log. Requires: create_index is that of the row before, or 0.
template <typename Row>
void stamp(Row& row, uint64_t index) {
  if (row.create_index() == 0) row.set_create_index(index);
  row.set_modify_index(index);
}

}  // namespace drover::acl
