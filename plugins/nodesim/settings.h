// The operator's wishes for the simulated nodes: the options of `drover dev nodesim`. Pure.
#pragma once

#include <chrono>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "drover/result.h"

namespace drover::nodesim {

// The course that an allocation takes on a simulated node.
struct Course {
  std::chrono::nanoseconds start_after{};                  // until it is reported running
  std::optional<std::chrono::nanoseconds> run_for{};       // until it has ended well; none: it runs until stopped
  std::optional<std::chrono::nanoseconds> report_every{};  // running ones are reported again; none: once is enough
};

struct Settings {
  std::vector<std::string> servers = {"127.0.0.1:4647"};  // RPC addresses
  int count = 1;
  std::string region = "global";
  std::string datacenter = "dc1";
  std::string node_class;
  std::vector<std::string> drivers = {"mock_driver", "raw_exec"};
  int64_t cpu_mhz = 4000;
  int64_t memory_mb = 8192;
  int64_t disk_mb = 100'000;
  int registering = 64;  // at one time
  Course course;
  bool in_step = false;                                // reports of report_every come from all nodes at one moment
  std::optional<std::chrono::nanoseconds> duration{};  // of the whole; none: until it is interrupted
  std::string ca_file, cert_file, key_file;            // all or none
};

// Errors: invalid_argument, naming the option and what it takes.
Result<Settings> parse_settings(std::span<const std::string> words);

// Usage, description and options.
std::string settings_help();

}  // namespace drover::nodesim
