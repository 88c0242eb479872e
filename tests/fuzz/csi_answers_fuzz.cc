// One input as all that a storage plugin may answer: what comes of it keeps the contract, and tells no secret.
#include <google/protobuf/stubs/logging.h>

#include <string>
#include <string_view>

#include "csi/protocol/convert.h"
#include "csi/protocol/redact.h"

void fuzz_csi_answers(std::string_view bytes);

namespace {

template <typename Message>
Message read(std::string_view bytes) {
  Message message;
  (void)message.ParseFromArray(bytes.data(), static_cast<int>(bytes.size()));  // what came before the fault counts
  return message;
}

bool is_id(const std::string& id) { return !id.empty() && id.size() <= 128; }

}  // namespace

void fuzz_csi_answers(std::string_view bytes) {
  const google::protobuf::LogSilencer silence;
  using namespace drover::csi;  // v1 is that of CSI
  if (const auto made = created_of(read<v1::CreateVolumeResponse>(bytes)); made.ok())
    DROVER_CHECK(is_id(made->external_volume_id()) && made->capacity() >= 0);
  if (const auto list = listed_of(read<v1::ListVolumesResponse>(bytes)); list.ok()) {
    for (const auto& each : list->volumes()) DROVER_CHECK(is_id(each.external_id()) && each.capacity_bytes() >= 0);
  }
  if (const auto snapshot = snapshot_of(read<v1::Snapshot>(bytes)); snapshot.ok())
    DROVER_CHECK(is_id(snapshot->id()) && is_id(snapshot->external_volume_id()));
  const auto node = node_info_of(read<v1::NodeGetInfoResponse>(bytes), read<v1::NodeGetCapabilitiesResponse>(bytes));
  if (node.ok()) DROVER_CHECK(node->max_volumes() > 0 && !node->id().empty() && node->id().size() <= 256);
  (void)controller_info_of(read<v1::ControllerGetCapabilitiesResponse>(bytes));

  v1::ValidateVolumeCapabilitiesRequest asked;
  *asked.add_volume_capabilities() = *capability_of("single-node-writer", "file-system", {});
  (*asked.mutable_secrets())["key"] = "hunter2";
  const auto answer = read<v1::ValidateVolumeCapabilitiesResponse>(bytes);
  const drover::Status status = confirmed(asked, answer);
  DROVER_CHECK(!status.ok() || answer.confirmed().volume_capabilities_size() > 0);
  DROVER_CHECK(status.message().find("hunter2") == std::string::npos);
  DROVER_CHECK(without_secrets(bytes, asked).find("hunter2") == std::string::npos);
}
