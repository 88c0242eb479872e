// The block client.artifact of the agent's configuration. Pure.
#pragma once

#include <chrono>
#include <cstdint>
#include <string>
#include <vector>

#include "drover/config.h"

namespace drover::artifacts {

struct Config {
  std::chrono::nanoseconds http_read_timeout{}, gcs_timeout{}, git_timeout{}, hg_timeout{}, s3_timeout{};
  uint64_t http_max_size = 0;
  uint64_t most_files = 0;           // that an archive may hold
  uint64_t most_unpacked_bytes = 0;  // of an archive
  bool is_isolated = true;
  std::vector<std::string> inherited;  // names of variables of the agent's environment

  std::chrono::nanoseconds longest() const;
};

ConfigOption artifact_block();
// `client` may be null.
Config artifact_config(const ConfigBlock* client);

}  // namespace drover::artifacts
