#include "plugin.h"

#include <vector>

#include "hostpath.pb.h"
#include "ledger/mounted.h"
#include "ledger/snapshots.h"
#include "ledger/volumes.h"

namespace drover::hostpath {
namespace {

// Nobody was told of what was being made; what was being deleted is to go.
template <typename Rows>
auto unfinished(const Rows& rows, const std::string& maker) {
  std::vector<typename Rows::value_type> found;
  for (const auto& each : rows) {
    if (each.stage() != STAGE_READY && each.maker() == maker) found.push_back(each);
  }
  return found;
}

}  // namespace

Status Plugin::open() {
  DROVER_RETURN_IF_ERROR(store.open());
  DROVER_RETURN_IF_ERROR(storage.open());
  DROVER_RETURN_IF_ERROR(store.change([this](State& state) {
    if (settings.has_node) register_node(state, settings);
    return ok_status();
  }));
  return settings.has_controller ? end_cut_off() : ok_status();
}

Status Plugin::end_cut_off() {
  return store.change([this](State& state) {
    for (const Volume& each : unfinished(state.volumes(), settings.node_id)) {
      DROVER_RETURN_IF_ERROR(storage.remove(each));
      end_delete(state, each.id());
    }
    for (const Snapshot& each : unfinished(state.snapshots(), settings.node_id)) {
      DROVER_RETURN_IF_ERROR(storage.remove(each));
      end_delete_snapshot(state, each.id());
    }
    return ok_status();
  });
}

}  // namespace drover::hostpath
