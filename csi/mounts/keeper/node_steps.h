// The calls to a node plugin that mount a volume and undo that, with the folders around them. No order and no memory:
// the keeper has both. Each waits. [any]
#pragma once

#include <functional>
#include <stop_token>
#include <string>
#include <string_view>
#include <vector>

#include "csi/protocol/call_limits.h"
#include "drover/result.h"
#include "keeper/mount_plan.h"
#include "supervisor/instances.h"

namespace drover::v1 {
class CsiClaimResponse;
class CsiExpandResponse;
class CsiNodeExpandRequest;
}  // namespace drover::v1

namespace drover::mounts {

// The paths where this machine has mounted something.
using MountList = std::function<std::vector<std::string>()>;
std::vector<std::string> mounted_paths();  // as the system says
bool is_mounted(const MountList& mounted, std::string_view path);
bool is_there(const std::string& path);  // a link counts for itself

// The paths of a mount, on this machine and as a plugin sees them.
struct MountPaths {
  std::string base;             // of this machine
  std::string staging, target;  // below it

  std::string host_staging() const { return base + "/" + staging; }
  std::string host_target() const { return base + "/" + target; }
};
// Errors: those of the folders; failed_precondition where no plugin is known for it yet.
Result<MountPaths> paths_of(const Folders& folders, const Mount& mount);

// One call of one plugin about one mount.
struct NodeCall {
  const Instances::Found& plugin;
  const Mount& mount;
  const MountPaths& paths;
  csi::CallLimits limits;
  const MountList& mounted;
  std::stop_token stop;
};
// Both make the folders that the plugin must find. Errors: those of the plugin; those of making a folder.
Status stage(const NodeCall& call, const v1::CsiClaimResponse& claimed);
Status publish(const NodeCall& call, const v1::CsiClaimResponse& claimed);
// Ok also when there was nothing. What is still mounted although the plugin has done its part is unmounted; the empty
// folders go.
Status unpublish(const NodeCall& call);
Status unstage(const NodeCall& call);
// Errors also: unimplemented when the plugin cannot.
Result<v1::CsiExpandResponse> expand(const NodeCall& call, const v1::CsiNodeExpandRequest& request);

}  // namespace drover::mounts
