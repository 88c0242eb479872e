// The job's part: what the `config` block of a task may hold. Values, their schema and the checks that need nothing but
// the block itself. Pure.
#pragma once

#include <chrono>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "drover/hclspec.h"
#include "drover/result.h"

namespace drover::docker {

struct MountOption {
  std::string type = "volume";
  std::string target, source;
  bool readonly = false;
  std::string propagation;  // of a bind
  int64_t tmpfs_size = 0;   // bytes; 0: no limit
  int64_t tmpfs_mode = 0;
  bool no_copy = false;  // of a volume, as what follows
  std::map<std::string, std::string> labels;
  std::string driver;
  std::map<std::string, std::string> driver_options;
};

struct DeviceOption {
  std::string host_path, container_path, permissions;
};

struct AuthOption {
  std::string username, password, email, server_address;
};

struct LoggingOption {
  std::string driver;  // empty: the operator's
  std::map<std::string, std::string> config;
};

struct ContainerOptions {
  std::string image, load;
  std::optional<std::string> command;
  std::vector<std::string> args, entrypoint;
  std::string hostname, work_dir, mac_address, ipv4_address, ipv6_address, network_mode, volume_driver, runtime,
      isolation, ipc_mode, pid_mode, userns_mode, uts_mode, cpuset_cpus;
  bool tty = false, interactive = false, force_pull = false, auth_soft_fail = false, privileged = false,
       readonly_rootfs = false, init = false, advertise_ipv6 = false, cpu_hard_limit = false,
       disables_healthcheck = false;
  int64_t cpu_cfs_period = 100'000, memory_hard_limit_mb = 0, pids_limit = 0, shm_size = 0;
  std::vector<std::string> cap_add, cap_drop, dns_servers, dns_options, dns_search_domains, extra_hosts,
      network_aliases, security_opt, volumes;
  std::optional<std::vector<std::string>> ports;
  std::map<std::string, std::string> labels, storage_opt, sysctl, ulimit, port_map;
  std::optional<AuthOption> auth;
  std::vector<DeviceOption> devices;
  std::vector<MountOption> mounts;
  std::optional<LoggingOption> logging;
  std::chrono::nanoseconds image_pull_timeout = std::chrono::minutes(5);
};

hclspec::Spec container_schema();

// Errors: invalid_argument naming the option.
Result<ContainerOptions> read_container_options(std::string_view msgpack);

}  // namespace drover::docker
