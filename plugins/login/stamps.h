// The fields that the servers give a row, whatever a request says. Pure.
#pragma once

#include <cstdint>

#include "drover/messages.h"
#include "drover/sha256.h"

namespace drover::login {

// Fills in times and digest. `existing`: null for a new row.
template <typename Row>
void set_servers_fields(Row& row, const Row* existing, int64_t now) {
  row.clear_hash();
  row.clear_create_time();
  row.clear_modify_time();
  row.clear_create_index();
  row.clear_modify_index();
  row.set_hash(sha256(serialize(row)));
  row.set_create_time(existing ? existing->create_time() : now);
  row.set_modify_time(now);
}

// The indexes as the row has them after that entry of the log.
template <typename Row>
void set_indexes(Row& row, const Row* existing, uint64_t index) {
  row.set_create_index(existing ? existing->create_index() : index);
  row.set_modify_index(index);
}

}  // namespace drover::login
