#include "keeper/turn_names.h"

namespace drover::mounts {
namespace {

std::string named(char kind, const std::string& plugin_id, const std::string& id) {
  return std::string(1, kind) + std::to_string(plugin_id.size()) + ":" + plugin_id + id;
}

}  // namespace

std::string turn_of_volume(const std::string& plugin_id, const std::string& external_volume_id) {
  return named('v', plugin_id, external_volume_id);
}
std::string turn_of_name(const std::string& plugin_id, const std::string& name) { return named('n', plugin_id, name); }
std::string turn_of_snapshot(const std::string& plugin_id, const std::string& snapshot_id) {
  return named('s', plugin_id, snapshot_id);
}

}  // namespace drover::mounts
