// The fields that the servers give a row, whatever a request says. Pure.
#pragma once

#include <cstdint>

#include "drover/messages.h"
#include "drover/sha256.h"

namespace drover::login {

template <typename Row>
void clear_servers_fields(Row& row) {
  row.clear_hash();
  row.clear_create_time();
  row.clear_modify_time();
  row.clear_create_index();
  row.clear_modify_index();
}

// Fills in times and digest. `shown`: the row without its secrets, whose digest it is. `existing`: null for a new row.
template <typename Row>
void set_servers_fields(Row& row, Row shown, const Row* existing, int64_t now) {
  clear_servers_fields(row);
  clear_servers_fields(shown);
  row.set_hash(sha256(serialize(shown)));
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
