#include "kernel/state/snapshot_file.h"

#include <algorithm>

#include "kernel/state/store.h"

namespace drover::state {

Status write_snapshot(const Snapshot& snapshot, ByteSink& sink) {
  const Schema& schema = *snapshot.reader().schema;
  std::vector<uint32_t> order;  // by name: the order of declaration may differ between servers
  for (uint32_t t = 0; t < schema.tables.size(); ++t) order.push_back(t);
  std::ranges::sort(order, {}, [&](uint32_t t) -> const std::string& { return schema.tables[t].spec.name; });

  StateSnapshotWriter writer(sink);
  DROVER_RETURN_IF_ERROR(writer.begin(snapshot.index(), static_cast<uint32_t>(order.size())));
  for (uint32_t t : order) {
    const TableSpec& spec = schema.tables[t].spec;
    DROVER_RETURN_IF_ERROR(writer.table({.name = spec.name,
                                         .message = spec.message,
                                         .rows = snapshot.row_count(TableId{t}),
                                         .last_index = snapshot.table_index(TableId{t})}));
    tree::Position at;
    for (at.seek_first(snapshot.reader().version->roots[schema.root(TableId{t}, kPrimary)]); at.valid(); at.next()) {
      DROVER_RETURN_IF_ERROR(writer.row(at.item()->value()));
    }
  }
  return writer.finish();
}

}  // namespace drover::state
