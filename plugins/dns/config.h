// The plugin's own options.
#pragma once

#include <chrono>
#include <string>
#include <vector>

#include "drover/subnet.h"
#include "zone/zone.h"

namespace drover {
class ConfigBlock;
struct ConfigSchema;
}  // namespace drover

namespace drover::dns {

struct Config {
  std::vector<std::string> addresses;
  std::vector<Subnet> clients;
  Zone zone;
  std::chrono::nanoseconds max_stale{};
  std::string token_file;
};

ConfigSchema config_schema();
// Errors: invalid_argument, naming the option.
Result<Config> read_config(const ConfigBlock& block);

}  // namespace drover::dns
