// The declared tables, and where each index has its root. Fixed before the first data. [any] once fixed.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "drover/result.h"
#include "drover/tables.h"

namespace drover::state {

// All keys of a row, arranged.
inline void keys_of(const TableSpec& spec, std::string_view row, RowKeys& keys) {
  keys.reset(spec.indexes.size());
  spec.keys(row, keys);
  keys.arrange();
}

struct Schema {
  struct Entry {
    TableSpec spec;
    uint32_t first_root;  // of the primary; index n of the table has root first_root + n
  };
  struct Root {
    uint32_t table;
    bool unique;
  };
  std::vector<Entry> tables;
  std::vector<Root> roots;

  const Entry& table(TableId id) const {
    DROVER_CHECK(id.value < tables.size());
    return tables[id.value];
  }
  uint32_t root(TableId id, uint32_t index) const {
    DROVER_CHECK(index <= table(id).spec.indexes.size());
    return table(id).first_root + index;
  }
  std::optional<TableId> find(std::string_view name) const {
    for (uint32_t i = 0; i < tables.size(); ++i) {
      if (tables[i].spec.name == name) return TableId{i};
    }
    return std::nullopt;
  }
};

}  // namespace drover::state
