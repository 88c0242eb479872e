#include "volumes/host_volume_text.h"

#include <algorithm>

#include "drover/api/host_volumes.pb.h"
#include "output.h"
#include "volumes/volume_text.h"

namespace drover::cli {

std::vector<std::vector<std::string>> host_volume_rows(std::vector<v1::HostVolumeStub> volumes, bool verbose) {
  std::ranges::sort(volumes, {}, [](const v1::HostVolumeStub& volume) { return volume.id(); });
  std::vector<std::vector<std::string>> rows = {
      {"ID", "Name", "Namespace", "Plugin ID", "Node ID", "Node Pool", "State"}};
  for (const v1::HostVolumeStub& volume : volumes) {
    rows.push_back({id_text(volume.id(), verbose), volume.name(), volume.namespace_(), volume.plugin_id(),
                    id_text(volume.node_id(), verbose), volume.node_pool(), volume.state()});
  }
  return rows;
}

std::string host_volume_text(const v1::DescribedHostVolume& volume, bool is_short, bool verbose) {
  const std::string size = bytes_text(volume.capacity_bytes());
  std::vector<std::pair<std::string, std::string>> pairs = {{"ID", id_text(volume.id())},
                                                            {"Name", volume.name()},
                                                            {"Namespace", volume.namespace_()},
                                                            {"Plugin ID", volume.plugin_id()},
                                                            {"Node ID", id_text(volume.node_id())},
                                                            {"Node Pool", volume.node_pool()},
                                                            {"Capacity", size.empty() ? "0 B" : size},
                                                            {"State", volume.state()},
                                                            {"Host Path", volume.host_path()}};
  if (!volume.last_error().empty()) pairs.emplace_back("Last Error", volume.last_error());
  std::string text = format_pairs(pairs);
  if (is_short) return text;
  std::vector<std::vector<std::string>> modes = {{"Access Mode", "Attachment Mode"}};
  for (const v1::CsiVolumeCapability& each : volume.requested_capabilities())
    modes.push_back({each.access_mode(), each.attachment_mode()});
  std::vector<std::vector<std::string>> allocs = {kAllocColumns};
  for (const v1::AllocationListStub& alloc : volume.allocations()) allocs.push_back(alloc_row(alloc, verbose));
  text += "\nCapabilities\n" + format_list(modes) + "\nAllocations\n";
  return text + (allocs.size() > 1 ? format_list(allocs) : "No allocations placed\n");
}

std::string host_volume_claims_text(const v1::ListHostVolumeClaimsResponse& claims, bool verbose) {
  std::vector<std::vector<std::string>> rows = {
      {"ID", "Namespace", "Job ID", "Volume ID", "Volume Name", "Task Group", "Alloc ID"}};
  for (const v1::HostVolumeClaim& claim : claims.claims()) {
    rows.push_back({id_text(claim.id()), claim.namespace_(), claim.job_id(), id_text(claim.volume_id(), verbose),
                    claim.volume_name(), claim.task_group_name(), id_text(claim.alloc_id(), verbose)});
  }
  return rows.size() > 1 ? format_list(rows) : "No volume claims\n";
}

}  // namespace drover::cli
