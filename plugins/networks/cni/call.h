// One call of a CNI plugin: what it is given, and what its answer means. Pure. The contract is the CNI specification 1.1.
#pragma once

#include <string>
#include <vector>

#include "attachment.h"
#include "cni/network_list.h"

namespace drover::v1 {
class NetworkStatus;
}

namespace drover::networks::cni {

struct PluginCall {
  std::string command;                   // "ADD", "DEL"
  std::string type;                      // names the program
  std::vector<std::string> environment;  // "NAME=value", without PATH
  std::string input;
};
struct PluginAnswer {
  int code = 0;
  std::string output, errors;
};

// `previous`: the result of the plugin before, as JSON; empty: none. `path`: the folders of programs.
PluginCall plugin_call(const std::string& command, const NetworkList& list, size_t at, const Wanted& wanted,
                       const std::string& previous, const std::vector<std::string>& path);

// The result that a plugin printed, as JSON; empty: none. Errors: unavailable with the plugin's own words.
Result<std::string> read_answer(const PluginCall& call, const PluginAnswer& answer);

// The first interface inside the namespace that has an address, else any that has one. Errors: invalid_argument when
// none has, or the result is none.
Result<v1::NetworkStatus> status_of(std::string_view result);

}  // namespace drover::networks::cni
