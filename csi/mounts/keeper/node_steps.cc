#include "keeper/node_steps.h"

#include <sys/mount.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <fstream>
#include <iterator>

#include "csi/protocol/client.h"
#include "csi/protocol/convert.h"
#include "drover/log.h"
#include "drover/mounts.h"
#include "drover/v1/csi.pb.h"
#include "drover/v1/node_csi.pb.h"

namespace drover::mounts {
namespace {

// A path below the mount's base as the plugin sees it. The instance may have another base than the one that mounted:
// where it sees the machine's folders, it is shown that one.
std::string seen(const NodeCall& call, const std::string& path_below) {
  const Instance& instance = *call.plugin.instance;
  if (instance.base_seen == instance.base) return call.paths.base + "/" + path_below;
  return instance.seen(path_below);
}

constexpr int kFolderTries = 10;

// Each folder below `base` is nobody else's. Errors: not_found when one went meanwhile.
Status try_folders(const std::string& base, const std::string& path_below) {
  std::string path = base;
  for (size_t begin = 0; begin <= path_below.size();) {
    const size_t end = std::min(path_below.find('/', begin), path_below.size());
    path += "/" + path_below.substr(begin, end - begin);
    if (::mkdir(path.c_str(), 0700) != 0 && errno != EEXIST) return errno_status(errno, "mkdir " + path);
    begin = end + 1;
  }
  return ok_status();
}

// Another volume's end may remove a folder that both are in, as long as it is empty.
Status make_folders(const std::string& base, const std::string& path_below) {
  Status status = try_folders(base, path_below);
  for (int i = 1; i < kFolderTries && status.code() == Code::not_found; ++i) status = try_folders(base, path_below);
  return status;
}

// The folder and those around it as long as they are empty, but for the first one below the base.
void remove_folders(const std::string& base, std::string path_below) {
  while (path_below.find('/') != path_below.npos && ::rmdir((base + "/" + path_below).c_str()) == 0)
    path_below.resize(path_below.rfind('/'));
}

std::string folder_of(const std::string& path) { return path.substr(0, path.rfind('/')); }

Result<csi::v1::VolumeCapability> capability(const NodeCall& call, const v1::MountOptions& options) {
  const Usage& usage = call.mount.usage;
  return csi::capability_of(usage.access_mode, usage.attachment_mode, options);
}

template <typename Request>
Status fill(const NodeCall& call, const v1::CsiClaimResponse& claimed, Request& request) {
  request.set_volume_id(call.mount.external_volume_id);
  *request.mutable_publish_context() = claimed.claim().publish_context();
  *request.mutable_volume_context() = claimed.claim().volume_context();
  *request.mutable_secrets() = claimed.secrets();
  DROVER_TRY(*request.mutable_volume_capability(), capability(call, claimed.claim().mount_options()));
  return ok_status();
}

template <typename Response, typename Request>
Result<Response> ask(const NodeCall& call, const Request& request) {
  return call.plugin.instance->client->call<Response>(request, call.limits, call.stop);
}

// Asks once more where the plugin says that it is done and the system lists the mount all the same. What is unmounted
// behind its back it may take for mounted, and then refuse the next step for ever.
template <typename Response, typename Request>
Status ask_to_undo(const NodeCall& call, const Request& request, const std::string& path) {
  const Status status = ask<Response>(call, request).status();
  if (!status.ok() || !is_mounted(call.mounted, path)) return status;
  return ask<Response>(call, request).status();
}

// The plugin has done what it can: whatever lies there yet is nobody's.
Status unmount_rest(const MountList& mounted, const std::string& path) {
  while (is_mounted(mounted, path)) {
    if (::umount2(path.c_str(), UMOUNT_NOFOLLOW) != 0) return errno_status(errno, "unmount " + path);
    log::warn("mounts", "a volume was still mounted when its plugin had unmounted it", {{"path", path}});
  }
  return ok_status();
}

// A task would write into a folder of this machine, and its data would be gone with it.
Status check_published(const NodeCall& call) {
  const std::string target = call.paths.host_target();
  struct stat found {};
  const bool is_device = ::stat(target.c_str(), &found) == 0 && S_ISBLK(found.st_mode);
  if (is_mounted(call.mounted, target) || is_device) return ok_status();
  return internal_error("the plugin \"" + call.mount.plugin_id +
                        "\" says that it has published the volume, and nothing is mounted at " + target +
                        ": its mounts must reach the machine (run it privileged, or without a container)");
}

}  // namespace

Result<MountPaths> paths_of(const Folders& folders, const Mount& mount) {
  if (mount.plugin_type.empty()) return failed_precondition("the volume was not mounted yet");
  MountPaths paths;
  DROVER_TRY(paths.base, folders.base(mount.plugin_type, mount.plugin_id));
  DROVER_TRY(paths.staging, staging_path(mount.key.name_space, mount.key.volume_id, mount.usage));
  DROVER_TRY(paths.target, target_path(mount.key.alloc, mount.key.volume_id, mount.usage));
  return paths;
}

Status stage(const NodeCall& call, const v1::CsiClaimResponse& claimed) {
  csi::v1::NodeStageVolumeRequest request;
  DROVER_RETURN_IF_ERROR(fill(call, claimed, request));
  request.set_staging_target_path(seen(call, call.paths.staging));
  DROVER_RETURN_IF_ERROR(make_folders(call.paths.base, call.paths.staging));
  return ask<csi::v1::NodeStageVolumeResponse>(call, request).status();
}

Status publish(const NodeCall& call, const v1::CsiClaimResponse& claimed) {
  csi::v1::NodePublishVolumeRequest request;
  DROVER_RETURN_IF_ERROR(fill(call, claimed, request));
  if (call.mount.stages) request.set_staging_target_path(seen(call, call.paths.staging));
  request.set_target_path(seen(call, call.paths.target));
  request.set_readonly(call.mount.usage.is_read_only);
  DROVER_RETURN_IF_ERROR(make_folders(call.paths.base, folder_of(call.paths.target)));
  DROVER_RETURN_IF_ERROR(ask<csi::v1::NodePublishVolumeResponse>(call, request).status());
  return check_published(call);
}

Status unpublish(const NodeCall& call) {
  csi::v1::NodeUnpublishVolumeRequest request;
  request.set_volume_id(call.mount.external_volume_id);
  request.set_target_path(seen(call, call.paths.target));
  const std::string target = call.paths.host_target();
  const Status status = ask_to_undo<csi::v1::NodeUnpublishVolumeResponse>(call, request, target);
  const bool is_undone = counts_as_undone(status.code(), status.message(), is_there(target));
  // A folder that can be removed is no mount.
  const bool may_look = status.code() != Code::cancelled && !may_pass(status.code());
  if (!is_undone && !(may_look && ::rmdir(target.c_str()) == 0)) return status;
  DROVER_RETURN_IF_ERROR(unmount_rest(call.mounted, target));
  if (is_there(target)) (void)::rmdir(target.c_str());
  remove_folders(call.paths.base, folder_of(call.paths.target));
  return ok_status();
}

Status unstage(const NodeCall& call) {
  csi::v1::NodeUnstageVolumeRequest request;
  request.set_volume_id(call.mount.external_volume_id);
  request.set_staging_target_path(seen(call, call.paths.staging));
  const std::string staging = call.paths.host_staging();
  const Status status = ask_to_undo<csi::v1::NodeUnstageVolumeResponse>(call, request, staging);
  if (!counts_as_undone(status.code(), status.message(), is_there(staging))) return status;
  DROVER_RETURN_IF_ERROR(unmount_rest(call.mounted, staging));
  remove_folders(call.paths.base, call.paths.staging);
  return ok_status();
}

Result<v1::CsiExpandResponse> expand(const NodeCall& call, const v1::CsiNodeExpandRequest& wanted) {
  if (!call.plugin.info->node_info().supports_expand())
    return unimplemented("the plugin \"" + call.mount.plugin_id + "\" cannot expand volumes on nodes");
  csi::v1::NodeExpandVolumeRequest request;
  request.set_volume_id(call.mount.external_volume_id);
  request.set_volume_path(seen(call, call.paths.target));
  if (call.mount.stages) request.set_staging_target_path(seen(call, call.paths.staging));
  request.mutable_capacity_range()->set_required_bytes(wanted.capacity_min());
  request.mutable_capacity_range()->set_limit_bytes(wanted.capacity_max());
  *request.mutable_secrets() = wanted.secrets();
  DROVER_TRY(*request.mutable_volume_capability(), capability(call, {}));
  DROVER_TRY(const auto answer, ask<csi::v1::NodeExpandVolumeResponse>(call, request));
  v1::CsiExpandResponse out;
  out.set_capacity(answer.capacity_bytes());
  return out;
}

std::vector<std::string> mounted_paths() {
  std::ifstream file("/proc/self/mountinfo");
  const std::string text{std::istreambuf_iterator<char>(file), {}};
  std::vector<std::string> out;
  for (MountPoint& mount : parse_mountinfo(text)) out.push_back(std::move(mount.path));
  return out;
}

bool is_mounted(const MountList& mounted, std::string_view path) {
  const std::vector<std::string> all = mounted();
  return std::ranges::find(all, path) != all.end();
}

bool is_there(const std::string& path) {
  struct stat found {};
  return ::lstat(path.c_str(), &found) == 0;
}

}  // namespace drover::mounts
