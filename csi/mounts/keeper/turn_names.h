// The names of turns (drover/turns.h) on a node: no two calls for one volume, one name or one snapshot. Pure.
#pragma once

#include <string>

namespace drover::mounts {

std::string turn_of_volume(const std::string& plugin_id, const std::string& external_volume_id);
std::string turn_of_name(const std::string& plugin_id, const std::string& name);  // of what is being created
std::string turn_of_snapshot(const std::string& plugin_id, const std::string& snapshot_id);

}  // namespace drover::mounts
