// A CNI network: a list of plugins that are called one after the other.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "config.h"

namespace drover::networks::cni {

inline constexpr const char* kAdminChain = "NOMAD-ADMIN";  // where operators put rules of their own

struct NetworkList {
  std::string name;
  std::string version;  // of the specification
  std::vector<std::string> plugins;  // the configuration of each, as JSON
};

// A list, or one plugin, which is a list of one. Errors: invalid_argument with what is wrong. Pure.
Result<NetworkList> parse_list(std::string_view json);
std::string to_json(const NetworkList& list);

// That of the network mode "bridge". Pure.
NetworkList bridge_list(const Config& config);

struct FoundList {
  std::string file;
  Result<NetworkList> list;
};
// All in a folder, by file name: *.conf, *.conflist, *.json. Errors: not_found when there is none.
Result<std::vector<FoundList>> find_lists(const std::string& folder);
// The first of this name. Errors: not_found; those of a file that may have been meant.
Result<NetworkList> find_list(const std::string& folder, const std::string& name);

}  // namespace drover::networks::cni
