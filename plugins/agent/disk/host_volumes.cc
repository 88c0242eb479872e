#include "disk/host_volumes.h"

#include <sys/stat.h>

#include <algorithm>
#include <map>

#include "drover/log.h"
#include "drover/model/csi_volume.h"
#include "drover/v1/job.pb.h"
#include "drover/v1/node.pb.h"
#include "nomad/plugins/driver.pb.h"

namespace drover::agent {
namespace {

std::optional<HostVolume> find(const MountInput& input, const std::string& name) {
  const auto at = std::ranges::find(input.volumes, name, &HostVolume::name);
  if (at != input.volumes.end()) return *at;
  const auto path = input.others ? input.others(name) : std::nullopt;
  return path ? std::optional(HostVolume{.name = name, .path = *path}) : std::nullopt;
}

// As whoever wrote the job counts them.
std::string missing_of(const MountInput& input) {
  std::string missing;
  std::map<std::string, const v1::VolumeRequest*> wanted;
  for (const auto& [name, request] : input.group.volumes()) wanted[name] = &request;
  for (const auto& [name, request] : wanted) {
    if (request->type() != "host") continue;
    const std::string volume = csi_volume_id(*request, input.alloc_name);
    if (!find(input, volume)) missing += (missing.empty() ? "" : ", ") + volume;
  }
  return missing;
}

}  // namespace

bool describe_host_volumes(const std::vector<HostVolume>& volumes, v1::Node& node) {
  std::map<std::string, bool> before, now;
  auto& offered = *node.mutable_host_volumes();
  for (auto at = offered.begin(); at != offered.end();) {
    if (!at->second.id().empty()) {
      ++at;
      continue;
    }
    before[at->first] = at->second.read_only();
    at = offered.erase(at);
  }
  for (const HostVolume& volume : volumes) {
    struct stat found {};
    if (::stat(volume.path.c_str(), &found) != 0) continue;
    v1::HostVolume& shown = offered[volume.name];
    shown.clear_id();
    shown.set_name(volume.name);
    shown.set_path(volume.path);
    shown.set_read_only(volume.is_read_only);
    now[volume.name] = volume.is_read_only;
  }
  return before != now;
}

void report_absent(const std::vector<HostVolume>& volumes, const v1::Node& node) {
  for (const HostVolume& volume : volumes) {
    if (node.host_volumes().contains(volume.name)) continue;
    log::warn("agent", "a host volume is not offered: its path is not on this machine",
              {{"volume", volume.name}, {"path", volume.path}});
  }
}

Status add_host_volumes(const MountInput& input, driver::TaskConfig& adds) {
  const std::string missing = missing_of(input);
  if (!missing.empty()) return invalid_argument("host volume validation error: missing " + missing);
  for (const v1::VolumeMount& mount : input.task.volume_mounts()) {
    const auto request = input.group.volumes().find(mount.volume());
    if (request == input.group.volumes().end())
      return invalid_argument("No group volume declaration found named: " + mount.volume());
    if (request->second.type() != "host") continue;  // somebody else's
    const std::string name = csi_volume_id(request->second, input.alloc_name);
    const auto volume = find(input, name);
    if (!volume) return invalid_argument("No host volume named: " + name);
    if (input.driver.mount_configs() == driver::DriverCapabilities::NO_MOUNTS) {
      return invalid_argument("task driver \"" + input.task.driver() + "\" for \"" + input.task.name() +
                              "\" does not support host volumes");
    }
    driver::Mount& added = *adds.add_mounts();
    added.set_host_path(volume->path);
    added.set_task_path(interpolate(mount.destination(), input.environment, input.node));
    added.set_readonly(volume->is_read_only || request->second.read_only() || mount.read_only());
    added.set_propagation_mode(mount.propagation_mode());
  }
  return ok_status();
}

}  // namespace drover::agent
