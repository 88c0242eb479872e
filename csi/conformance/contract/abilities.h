// The abilities that a plugin says it has, and which checks they make possible. Pure.
#pragma once

#include <cstdint>
#include <set>
#include <string>

namespace drover::csi_kit {

struct Settings;

struct Abilities {
  std::set<int> plugin{};                         // PluginCapability.Service.Type
  std::set<int> controller{};                     // ControllerServiceCapability.RPC.Type
  std::set<int> node{};                           // NodeServiceCapability.RPC.Type
  bool has_controller = false, has_node = false;  // this instance serves it
  std::string node_id{};
  std::string why_no_mounts{};  // empty: this process may mount
};

// Why a check that needs all that (Check::Needs) says nothing about this plugin; empty when it does.
std::string missing(uint32_t needs, const Abilities& abilities, const Settings& settings);

}  // namespace drover::csi_kit
