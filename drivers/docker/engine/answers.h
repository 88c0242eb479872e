// Reads the engine's answers: what this driver uses of them, and nothing else. Everything that an engine may leave out,
// or that another engine has in another form, has a value here. Pure.
//
// Errors of all: data_loss saying which answer cannot be read.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "drover/result.h"

namespace drover::docker {

// Of GET /containers/ID/json.
struct Container {
  std::string id, name, image_id;
  bool is_running = false;
  int pid = 0;
  int exit_code = 0;
  bool oom_killed = false;
  std::string error;                        // why it did not start, or not go on
  int64_t started_ns = 0, finished_ns = 0;  // since 1970; 0: not yet
  std::string started;                      // as the engine writes it
  bool has_tty = false;
  std::string stop_signal;  // empty: SIGTERM
  std::string log_driver;
  std::string cpuset_cpus;
  std::map<std::string, std::string> labels;
  std::string ip, ipv6;  // of the first network with one
  std::string network;   // its name
  std::string sandbox;   // the path of its network namespace
};
Result<Container> read_container(std::string_view json);

// Of GET /containers/json.
struct ListedContainer {
  std::string id, name;
  bool is_running = false;
  int64_t created_s = 0;
  std::map<std::string, std::string> labels;
};
Result<std::vector<ListedContainer>> read_containers(std::string_view json);

// Of GET /version, /info and /networks/bridge.
struct EngineFacts {
  std::string version, os_type, bridge_ip;
  std::vector<std::string> runtimes;  // sorted
  int cgroup_version = 1;
  bool is_podman = false;
};
Status read_version(std::string_view json, EngineFacts& facts);
Status read_info(std::string_view json, EngineFacts& facts);
Status read_bridge(std::string_view json, EngineFacts& facts);

// The member of that name, a text: an "Id" of something made, the "ID" of an image.
Result<std::string> read_text(std::string_view json, const char* member, std::string_view what);

// Of GET /images/NAME/json.
struct Image {
  std::string id, work_dir;
};
Result<Image> read_image(std::string_view json);

// Of GET /exec/ID/json.
struct ExecState {
  bool is_running = false;
  int pid = 0;
  std::optional<int> exit_code;
};
Result<ExecState> read_exec(std::string_view json);

// Of GET /containers/ID/stats.
struct Sample {
  uint64_t cpu_ns = 0, user_ns = 0, system_ns = 0;  // of the container so far
  uint64_t machine_ns = 0;                          // of all the machine so far; 0: not told
  int cores = 0;
  uint64_t throttled_periods = 0, throttled_ns = 0;
  std::optional<uint64_t> rss, cache, swap, usage, max_usage;
};
Result<Sample> read_sample(std::string_view json);

// "2023-05-01T12:00:00.123456789Z" as nanoseconds since 1970; 0 for the year 1, nothing for what is no time.
std::optional<int64_t> read_time(std::string_view text);

}  // namespace drover::docker
