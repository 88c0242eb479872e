// One input as calls to the storage plugin, one after the other: what is refused changes nothing, and what is done
// keeps the ledger whole. Each call is a byte that says which, a byte with its length, and the request.
#include <google/protobuf/stubs/logging.h>

#include <optional>
#include <set>
#include <string>
#include <string_view>

#include "csi/hostpath/ledger/mounted.h"
#include "csi/hostpath/ledger/snapshots.h"
#include "csi/hostpath/ledger/volumes.h"
#include "csi/hostpath/settings.h"
#include "csi/v1/csi.pb.h"
#include "drover/messages.h"
#include "hostpath.pb.h"

void fuzz_csi_requests(std::string_view bytes);

namespace {

using namespace drover;
using namespace drover::hostpath;

constexpr Room kDisk{.total = int64_t{1} << 40, .left = int64_t{1} << 39};

template <typename Message>
Message read(std::string_view bytes) {
  Message message;
  (void)message.ParseFromArray(bytes.data(), static_cast<int>(bytes.size()));
  return message;
}

// Forgets what a call would undo on the node.
template <typename Found, typename Forget>
Status undone(const Result<std::optional<Found>>& found, const Forget& forget) {
  if (!found) return found.status();
  if (*found) forget(**found);
  return {};
}

Status do_call(State& state, const Settings& settings, int which, std::string_view bytes) {
  const std::string new_id = "id-" + std::to_string(state.last_number());
  switch (which % 9) {
    case 0: {
      const auto made = begin_create(state, settings, kDisk, new_id, read<csi::v1::CreateVolumeRequest>(bytes));
      if (made) end_create(state, made->id());
      return made.status();
    }
    case 1: {
      const auto id = read<csi::v1::DeleteVolumeRequest>(bytes).volume_id();
      return undone(begin_delete(state, settings, id), [&](const Volume& gone) { end_delete(state, gone.id()); });
    }
    case 2:
      return attach(state, read<csi::v1::ControllerPublishVolumeRequest>(bytes)).status();
    case 3:
      return detach(state, read<csi::v1::ControllerUnpublishVolumeRequest>(bytes));
    case 4: {
      const auto made = begin_snapshot(state, settings, kDisk, new_id, 1, read<csi::v1::CreateSnapshotRequest>(bytes));
      if (made) end_snapshot(state, made->id());
      return made.status();
    }
    case 5:
      return stage(state, settings, read<csi::v1::NodeStageVolumeRequest>(bytes)).status();
    case 6:
      return publish(state, settings, read<csi::v1::NodePublishVolumeRequest>(bytes)).status();
    case 7: {
      const auto request = read<csi::v1::NodeUnpublishVolumeRequest>(bytes);
      return undone(published_at(state, settings, request.volume_id(), request.target_path()),
                    [&](const Published& gone) { forget_published(state, gone); });
    }
    default: {
      const auto request = read<csi::v1::NodeUnstageVolumeRequest>(bytes);
      return undone(staged_at(state, settings, request.volume_id(), request.staging_target_path()),
                    [&](const Staged& gone) { forget_staged(state, gone); });
    }
  }
}

// Mounted volumes are there; no path and no name has two uses.
void check(const State& state) {
  std::set<std::string> names, paths;
  for (const Volume& each : state.volumes()) {
    DROVER_CHECK(names.insert(each.name()).second);
    DROVER_CHECK(each.capacity() > 0 && each.stage() == STAGE_READY);
  }
  for (const Staged& each : state.staged()) {
    DROVER_CHECK(paths.insert(each.path()).second);
    DROVER_CHECK(find_volume(state, each.volume_id()) != nullptr);
  }
  for (const Published& each : state.published()) {
    DROVER_CHECK(paths.insert(each.target()).second);
    DROVER_CHECK(paths.contains(each.staging_path()));
    DROVER_CHECK(!each.target().starts_with("/data"));
  }
}

}  // namespace

void fuzz_csi_requests(std::string_view bytes) {
  const google::protobuf::LogSilencer silence;
  const Settings settings{.data_dir = "/data", .node_id = "n1"};
  State state;
  register_node(state, settings);
  while (bytes.size() >= 2) {
    const int which = static_cast<unsigned char>(bytes[0]);
    const std::string_view request = bytes.substr(2, static_cast<unsigned char>(bytes[1]));
    bytes.remove_prefix(2 + request.size());
    const std::string before = serialize(state);
    if (!do_call(state, settings, which, request).ok()) DROVER_CHECK(serialize(state) == before);
    check(state);
  }
}
