// The block "client" of the agent's configuration: what it may say, and what it says here. Pure.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "collecting/collect_plan.h"
#include "drover/config.h"
#include "drover/task_environment.h"
#include "users/user_range.h"

namespace drover::agent {

// The drain of the node when its agent goes on purpose.
struct DrainOnShutdown {
  std::chrono::nanoseconds deadline = std::chrono::hours(1);  // above zero
  bool force = false;                                         // everything moves at once
  bool ignore_system_jobs = false;
};

// A network of this machine that jobs ask for by name: its addresses are those of the interface and in the range, where
// they are said.
struct HostNetwork {
  std::string name;
  std::string cidr;
  std::string interface;
  std::string reserved_ports;
};

// A folder or file of this machine that jobs ask for by name.
struct HostVolume {
  std::string name;
  std::string path;  // absolute
  bool is_read_only = false;
};

struct ClientConfig {
  std::string alloc_dir;  // absolute
  std::string node_class;
  std::string node_pool = "default";
  std::string intro_token;  // secret; empty: it is looked for in the state folder
  Variables meta;
  std::string network_interface;
  int32_t network_speed = 0;  // Mbit/s; zero: found out
  std::vector<HostNetwork> host_networks;
  std::vector<HostVolume> host_volumes;
  int64_t cpu_total_compute = 0;  // MHz; zero: found out
  int64_t memory_total_mb = 0;
  int64_t disk_total_mb = 0;
  int64_t disk_free_mb = 0;
  int32_t min_dynamic_port = 20000;
  int32_t max_dynamic_port = 32000;
  int64_t reserved_cpu = 0;
  int64_t reserved_memory_mb = 0;
  int64_t reserved_disk_mb = 0;
  std::string reserved_ports;
  Variables chroot_env;  // path on this machine → path in the folder of a task that is locked in
  bool disable_remote_exec = false;
  std::optional<UserRange> users = UserRange();  // of tasks that name none; absent: they get none
  std::chrono::nanoseconds max_kill_timeout = std::chrono::seconds(30);
  std::optional<DrainOnShutdown> drain_on_shutdown;
  std::chrono::nanoseconds collect_interval = std::chrono::minutes(1);
  CollectLimits collect_limits;
  std::vector<std::string> driver_allowlist;  // empty: all
  std::vector<std::string> driver_denylist;
  std::vector<std::string> env_denylist;
  std::string ignored_options;  // keys of `options` that nothing here reads, separated by commas

  bool allows_driver(std::string_view name) const;
};

ConfigSchema client_schema();

// `block` may be null. Errors: invalid_argument naming the option.
Result<ClientConfig> client_config(const ConfigBlock* block, const std::string& data_dir);

}  // namespace drover::agent
