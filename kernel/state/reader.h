// Reads tables by their roots: shared by snapshots, whose roots never change, and the open transaction.
#pragma once

#include <memory>

#include "kernel/state/schema.h"
#include "kernel/state/version.h"

namespace drover::state {

struct Reader {
  const Schema* schema;
  const Version* version;
  const uint64_t* edits;  // grows with each edit of the roots; null when they never change

  // The row under a primary or unique key; null when absent.
  const Item* find(TableId table, uint32_t index, std::string_view key) const;
  // The row that an entry of this index stands for.
  const Item* row_of(TableId table, uint32_t index, const Item* entry) const;
  // A cursor of a transaction survives edits: it goes on behind the key it stood on.
  std::unique_ptr<Cursor> scan(TableId table, uint32_t index, const KeyRange& range, Order order) const;
  // Entries in the range. O(log n).
  uint64_t count(TableId table, uint32_t index, const KeyRange& range) const;
};

// True when `range` is KeyRange::exactly of its first key.
bool is_exactly(const KeyRange& range);

}  // namespace drover::state
