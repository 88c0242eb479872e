// The ledger of what a node has staged and published. Pure. [any]
//
// A row is stored before its mount is made and goes after the mount has gone: what was cut off in between is done
// again, or undone, by the next call.
#pragma once

#include <optional>
#include <string>

#include "drover/result.h"

namespace csi::v1 {
class NodePublishVolumeRequest;
class NodeStageVolumeRequest;
}  // namespace csi::v1

namespace drover::hostpath {

class Published;
class Staged;
class State;
struct Settings;

// Adds the row, or finds the one of the call before. Errors: invalid_argument; not_found; already_exists, the path has
// another use; failed_precondition, an earlier step is missing, or the mode forbids it.
Result<Staged> stage(State& state, const Settings& settings, const csi::v1::NodeStageVolumeRequest& request);
// Nothing: nothing is there. Errors: failed_precondition while it is published from there.
Result<std::optional<Staged>> staged_at(const State& state, const Settings& settings, const std::string& volume_id,
                                        const std::string& path);
void forget_staged(State& state, const Staged& staged);

Result<Published> publish(State& state, const Settings& settings, const csi::v1::NodePublishVolumeRequest& request);
// Nothing: nothing is there.
Result<std::optional<Published>> published_at(const State& state, const Settings& settings,
                                              const std::string& volume_id, const std::string& target);
void forget_published(State& state, const Published& published);

// By the call, the mode or a mount flag.
bool is_read_only(const Published& published);
// True when any target on this node still needs the volume's block device of that kind.
bool needs_device(const State& state, const Settings& settings, const std::string& volume_id, bool read_only);
// True when the volume is mounted at the path here, staged or published.
bool is_mounted_at(const State& state, const Settings& settings, const std::string& volume_id, const std::string& path);

void register_node(State& state, const Settings& settings);

}  // namespace drover::hostpath
