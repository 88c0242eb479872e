// Rows for the tests of this room: "id|name|group|tag,tag|payload" in a table with every kind of index.
#pragma once

#include <random>
#include <string>
#include <string_view>
#include <vector>

#include "drover/keys.h"
#include "kernel/state/snapshot_file.h"
#include "kernel/state/store.h"
#include "kernel/state/transaction.h"
#include "tests/support/string_stream.h"

namespace drover::state {

inline constexpr uint32_t kByName = 1;   // unique, conditional: rows without a name are not in it
inline constexpr uint32_t kByGroup = 2;  // not unique
inline constexpr uint32_t kByTag = 3;    // not unique, several keys a row

inline std::vector<std::string> split(std::string_view text, char at) {
  std::vector<std::string> out(1);
  for (char c : text) {
    if (c == at) {
      out.emplace_back();
    } else {
      out.back().push_back(c);
    }
  }
  return out;
}

inline std::string key_of(std::string_view text) { return KeyBuilder().text(text).take(); }

inline TableSpec thing_table(std::string name = "things") {
  TableSpec spec;
  spec.name = std::move(name);
  spec.message = "test.Thing";
  spec.indexes = {{"name", true}, {"group"}, {"tag"}};
  spec.keys = [](std::string_view row, RowKeys& keys) {
    const auto fields = split(row, '|');
    keys.primary(key_of(fields[0]));
    if (!fields[1].empty()) keys.add(kByName, key_of(fields[1]));
    keys.add(kByGroup, key_of(fields[2]));
    for (const std::string& tag : split(fields[3], ',')) {
      if (!tag.empty()) keys.add(kByTag, key_of(tag));
    }
  };
  return spec;
}

inline TableId must_add(Store& store, TableSpec spec) {
  Result<TableId> id = store.add_table(std::move(spec));
  DROVER_CHECK(id.ok());
  return *id;
}

// Nothing held back by the feed: memory is exact.
inline StoreOptions no_feed() { return {.feed_batches = 0, .feed_bytes = 0}; }

// One transaction that writes these rows.
inline void put_rows(Store& store, TableId table, const std::vector<std::string>& rows) {
  auto transaction = store.begin(store.index() + 1);
  for (const std::string& row : rows) DROVER_CHECK(transaction->put(table, row).ok());
  transaction->commit();
}
inline void erase_row(Store& store, TableId table, std::string_view id) {
  auto transaction = store.begin(store.index() + 1);
  DROVER_CHECK(transaction->erase(table, key_of(id)));
  transaction->commit();
}

inline std::vector<std::string> rows_of(const ReadView& view, TableId table, uint32_t index = kPrimary,
                                        const KeyRange& range = KeyRange::all(), Order order = Order::forward) {
  std::vector<std::string> out;
  for (auto c = view.scan(table, index, range, order); c->valid(); c->next()) out.emplace_back(c->row());
  return out;
}

}  // namespace drover::state
