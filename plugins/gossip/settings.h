// The part of the agent's configuration that this plugin reads: in `server {}`.
#pragma once

#include <chrono>
#include <string>
#include <vector>

#include "drover/config.h"
#include "drover/plugin.h"

namespace drover::gossip {

struct Settings {
  int bootstrap_expect = 0;
  std::string encrypt;  // secret
  std::vector<std::string> start_join, retry_join;
  std::chrono::nanoseconds retry_interval = std::chrono::seconds(30);
  int64_t retry_max = 0;  // 0: no end
  bool rejoin_after_leave = false;
  bool is_port_said = false;  // ports.serf stands in a file or flag
};

ConfigSchema server_schema();
// Errors: invalid_argument for an address that cannot be one; for start_join beside retry_join.
Result<Settings> read_settings(const Host& host);

}  // namespace drover::gossip
