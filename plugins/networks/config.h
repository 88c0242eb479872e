// The operator's options for networks of allocations: a part of the block "client". Pure.
#pragma once

#include <string>
#include <vector>

#include "drover/config.h"
#include "drover/subnet.h"

namespace drover::networks {

struct Config {
  std::vector<std::string> cni_folders;  // of programs
  std::string cni_config_folder;
  std::string bridge = "nomad";
  Subnet subnet;
  std::optional<Subnet> subnet6;
  bool is_hairpin = false;
  bool binds_everywhere = true;  // ports without a host_network listen on all addresses of the machine
};

std::vector<ConfigOption> client_options();
// `client` may be null. Errors: invalid_argument naming the option.
Result<Config> read_config(const ConfigBlock* client);

}  // namespace drover::networks
