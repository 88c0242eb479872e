#include "volumes/volume_text.h"

#include <algorithm>
#include <array>
#include <cstdio>

#include "drover/api/allocations.pb.h"
#include "drover/api/volumes.pb.h"
#include "drover/model/csi_volume.h"
#include "drover/v1/job.pb.h"
#include "drover/v1/node.pb.h"
#include "output.h"

namespace drover::cli {
namespace {

constexpr size_t kIdWidth = 30;  // of snapshots and their volumes, unless more is asked for

std::string cut(const std::string& id, bool verbose) { return verbose ? id : id.substr(0, kIdWidth); }

std::string moment(int64_t at) { return at == 0 ? "" : full_time(at); }

template <typename Plugins>
std::string plugin_names(const Plugins& plugins) {
  std::vector<std::string> names;
  for (const auto& [name, plugin] : sorted(plugins)) names.push_back(name + (plugin.healthy() ? "" : " (unhealthy)"));
  return joined(names, ",");
}

std::string claims_table(const v1::Volume& volume, bool verbose) {
  std::vector<std::vector<std::string>> rows = {
      {"Alloc ID", "Job ID", "Node ID", "Mode", "Step", "Since", "Attempts", "Next Try", "Last Error"}};
  for (const v1::VolumeClaim& claim : volume.claims()) {
    rows.push_back({id_text(claim.alloc_id(), verbose), claim.job_id(), id_text(claim.node_id(), verbose), claim.mode(),
                    claim.step(), moment(claim.since()), std::to_string(claim.attempts()), moment(claim.next_try()),
                    claim.last_error()});
  }
  return rows.size() > 1 ? "\nClaims\n" + format_list(rows) : "";
}

}  // namespace

std::string topology_text(const v1::CsiTopology& topology) {
  std::vector<std::string> segments;
  for (const auto& [name, value] : sorted(topology.segments())) segments.push_back(name + "=" + value);
  return joined(segments, ", ");
}

const std::vector<std::string> kExternalColumns = {"External ID", "Size", "Condition", "Nodes"};

std::string bytes_text(int64_t bytes) {
  if (bytes <= 0) return "";
  constexpr std::array<const char*, 6> kUnits = {"B", "KiB", "MiB", "GiB", "TiB", "PiB"};
  constexpr double kStep = 1024;
  auto value = static_cast<double>(bytes);
  size_t unit = 0;
  while (value >= kStep && unit + 1 < kUnits.size()) value /= kStep, ++unit;
  std::array<char, 32> text{};
  const int size = std::snprintf(text.data(), text.size(), unit == 0 ? "%.0f %s" : "%.1f %s", value, kUnits[unit]);
  return {text.data(), static_cast<size_t>(size)};
}

std::vector<std::vector<std::string>> volume_rows(const v1::ListVolumesResponse& volumes, bool with_namespace) {
  std::vector<std::vector<std::string>> rows = {{"ID", "Name", "Plugin ID", "Schedulable", "Access Mode"}};
  for (const v1::VolumeStub& volume : volumes.volumes()) {
    rows.push_back(
        {volume.id(), volume.name(), volume.plugin_id(), yes_no(volume.schedulable()), volume.access_mode()});
    if (with_namespace) rows.back().insert(rows.back().begin() + 2, volume.namespace_());
  }
  if (with_namespace) rows[0].insert(rows[0].begin() + 2, "Namespace");
  return rows;
}

std::string mount_options_text(const v1::MountOptions& options) {
  std::vector<std::string> parts;
  if (!options.fs_type().empty()) parts.push_back("fs_type: " + options.fs_type());
  if (!options.mount_flags().empty()) parts.push_back("flags: " + joined(options.mount_flags(), ", "));
  return joined(parts, " ");
}

std::vector<std::pair<std::string, std::string>> volume_pairs(const v1::Volume& volume) {
  std::vector<std::pair<std::string, std::string>> pairs = {{"ID", volume.id()},
                                                            {"Name", volume.name()},
                                                            {"Namespace", volume.namespace_()},
                                                            {"External ID", volume.external_id()},
                                                            {"Plugin ID", volume.plugin_id()},
                                                            {"Provider", volume.provider()},
                                                            {"Version", volume.provider_version()},
                                                            {"Capacity", bytes_text(volume.capacity())},
                                                            {"Schedulable", yes_no(volume.schedulable())}};
  if (volume.controller_required()) {
    pairs.emplace_back("Controllers Healthy", std::to_string(volume.controllers_healthy()));
    pairs.emplace_back("Controllers Expected", std::to_string(volume.controllers_expected()));
  }
  pairs.emplace_back("Nodes Healthy", std::to_string(volume.nodes_healthy()));
  pairs.emplace_back("Nodes Expected", std::to_string(volume.nodes_expected()));
  pairs.emplace_back("Access Mode", volume.access_mode());
  pairs.emplace_back("Attachment Mode", volume.attachment_mode());
  pairs.emplace_back("Mount Options", mount_options_text(volume.mount_options()));
  if (volume.resource_exhausted() != 0) pairs.emplace_back("Exhausted Since", moment(volume.resource_exhausted()));
  for (auto& [name, value] : pairs) {
    if (value.empty()) value = "<none>";
  }
  return pairs;
}

std::string volume_sections(const v1::Volume& volume, bool verbose) {
  std::string text;
  if (!volume.topologies().empty()) {
    std::vector<std::vector<std::string>> rows = {{"Topology", "Segments"}};
    for (const v1::CsiTopology& topology : volume.topologies())
      rows.push_back({(rows.size() <= 10 ? "0" : "") + std::to_string(rows.size() - 1), topology_text(topology)});
    text += "\nTopologies\n" + format_list(rows);
  }
  text += claims_table(volume, verbose);
  std::vector<std::vector<std::string>> rows = {kAllocColumns};
  for (const v1::AllocationListStub& alloc : volume.allocations()) rows.push_back(alloc_row(alloc, verbose));
  return text + "\nAllocations\n" + (rows.size() > 1 ? format_list(rows) : "No allocations placed\n");
}

std::string claims_text(const v1::ExplainVolumeResponse& claims, bool verbose) {
  if (claims.claims().empty()) return "Nobody claims the volume\n";
  std::string text;
  for (const v1::ExplainVolumeResponse::Claim& each : claims.claims()) {
    const v1::VolumeClaim& claim = each.claim();
    std::vector<std::pair<std::string, std::string>> pairs = {{"Allocation", id_text(claim.alloc_id(), verbose)},
                                                              {"Job ID", claim.job_id()},
                                                              {"Node ID", id_text(claim.node_id(), verbose)},
                                                              {"Mode", claim.mode()},
                                                              {"Step", claim.step()},
                                                              {"Since", moment(claim.since())}};
    if (claim.attempts() > 0) pairs.emplace_back("Attempts", std::to_string(claim.attempts()));
    if (!claim.last_error().empty()) pairs.emplace_back("Last Error", claim.last_error());
    if (claim.next_try() != 0) pairs.emplace_back("Next Try", moment(claim.next_try()));
    pairs.emplace_back("Held By", each.held_by());
    pairs.emplace_back("Freed By", each.freed_by());
    text += (text.empty() ? "" : "\n") + format_pairs(pairs);
  }
  return text;
}

std::vector<std::string> external_row(const v1::CsiExternalVolume& volume) {
  const std::string condition = volume.is_abnormal() ? "Abnormal (" + volume.status() + ")" : "OK";
  return {volume.external_id(), bytes_text(volume.capacity_bytes()), condition,
          joined(volume.published_external_node_ids(), ",")};
}

std::string snapshots_text(const std::vector<const v1::VolumeSnapshot*>& snapshots, bool verbose) {
  std::vector<std::vector<std::string>> rows = {{"Snapshot ID", "Volume ID", "Size", "Create Time", "Ready?"}};
  constexpr int64_t kSecond = 1'000'000'000;
  for (const v1::VolumeSnapshot* snapshot : snapshots) {
    // The storage's name of the volume, unless the servers know which it is here.
    const std::string& own = snapshot->source_volume_id();
    rows.push_back(
        {cut(snapshot->id(), verbose), cut(own.empty() ? snapshot->external_source_volume_id() : own, verbose),
         bytes_text(snapshot->size_bytes()), moment(snapshot->create_time() * kSecond), yes_no(snapshot->is_ready())});
  }
  return rows.size() > 1 ? format_list(rows) : "No snapshots\n";
}

std::string controllers_of(const v1::Node& node) { return plugin_names(node.csi_controller_plugins()); }
std::string drivers_of(const v1::Node& node) { return plugin_names(node.csi_node_plugins()); }

std::vector<MountedVolume> volumes_of(const v1::AllocationWithJob& alloc, const std::string& task) {
  std::vector<MountedVolume> mounted;
  for (const v1::TaskGroup& group : alloc.job().task_groups()) {
    if (group.name() != alloc.allocation().task_group()) continue;
    const auto at = std::ranges::find(group.tasks(), task, [](const v1::Task& each) { return each.name(); });
    if (at == group.tasks().end()) continue;
    for (const v1::VolumeMount& mount : at->volume_mounts()) {
      const auto request = group.volumes().find(mount.volume());
      if (request == group.volumes().end()) continue;
      mounted.push_back({.id = csi_volume_id(request->second, alloc.allocation().name()),
                         .type = request->second.type(),
                         .is_read_only = request->second.read_only() || mount.read_only()});
    }
  }
  return mounted;
}

}  // namespace drover::cli
