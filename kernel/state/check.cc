// The invariants, as code: run by tests after every step, on a live server's snapshot, and after each restore.

#include <algorithm>

#include "kernel/state/store.h"

namespace drover::state {
namespace {

// Each row stands under its own key, and in each index exactly as its keys say; no index has entries beside those.
Status check_keys(const Reader& reader, const Schema::Entry& entry, TableId table) {
  const size_t indexes = entry.spec.indexes.size();
  std::vector<uint64_t> expected(indexes + 1);
  RowKeys keys;
  tree::Position row;
  for (row.seek_first(reader.version->roots[entry.first_root]); row.valid(); row.next()) {
    keys_of(entry.spec, row.item()->value(), keys);
    if (keys.primary() != row.item()->key())
      return internal_error("table " + entry.spec.name + ": a row stands under a key that is not its own");
    for (uint32_t index = 1; index <= indexes; ++index) {
      const IndexSpec& spec = entry.spec.indexes[index - 1];
      const auto wrong = [&](const char* what) {
        return internal_error("table " + entry.spec.name + ", index " + spec.name + ": " + what);
      };
      expected[index] += keys.of(index).size();
      for (std::string& key : keys.of(index)) {
        const size_t length = key.size();
        if (!spec.unique) key.append(row.item()->key());
        const Item* record = tree::find(reader.version->roots[entry.first_root + index], key);
        if (record == nullptr) return wrong("a row is missing");
        if (record->primary_key() != row.item()->key()) return wrong("an entry points to another row");
        if (record->primary_offset != length) return wrong("an entry divides its keys at the wrong place");
        if (reader.row_of(table, index, record) != row.item()) return wrong("an entry does not lead to its row");
      }
    }
  }
  for (uint32_t index = 1; index <= indexes; ++index) {
    if (tree::rows(reader.version->roots[entry.first_root + index]) == expected[index]) continue;
    return internal_error("table " + entry.spec.name + ", index " + entry.spec.indexes[index - 1].name +
                          ": it has entries without a row");
  }
  return ok_status();
}

Status check_version(const Reader& reader, std::vector<int64_t>& bytes) {
  const Schema& schema = *reader.schema;
  for (uint32_t t = 0; t < schema.tables.size(); ++t) {
    const Schema::Entry& entry = schema.tables[t];
    bytes.push_back(0);
    for (uint32_t i = 0; i <= entry.spec.indexes.size(); ++i) {
      const Node* root = reader.version->roots[entry.first_root + i];
      if (const char* wrong = tree::check(root, bytes.back())) {
        return internal_error("table " + entry.spec.name + ", tree " + std::to_string(i) + ": " + wrong);
      }
      if (root != nullptr && root->birth > reader.version->number) {
        return internal_error("table " + entry.spec.name + ": a node is younger than its version");
      }
    }
    DROVER_RETURN_IF_ERROR(check_keys(reader, entry, TableId{t}));
  }
  return ok_status();
}

}  // namespace

Status Snapshot::check() const {
  std::vector<int64_t> bytes;
  return check_version(reader(), bytes);
}

Status Store::check() {
  while (reclaim()) {
  }
  Snapshot snapshot(*this, "check");
  std::vector<int64_t> bytes;
  DROVER_RETURN_IF_ERROR(check_version(snapshot.reader(), bytes));
  for (size_t t = 0; t < bytes.size(); ++t) {
    if (bytes[t] == memory_->bytes(t)) continue;
    return internal_error("table " + schema_.tables[t].spec.name + ": " + std::to_string(memory_->bytes(t)) +
                          " bytes are accounted but " + std::to_string(bytes[t]) + " are reachable");
  }
  return ok_status();
}

}  // namespace drover::state
