#include "client_config.h"

#include <algorithm>

#include "drover/model/node.h"
#include "fingerprint/host_ranges.h"

namespace drover::agent {
namespace {

constexpr const char* kChrootPaths[] = {
    "/bin", "/etc", "/lib", "/lib32", "/lib64", "/run/resolvconf", "/run/systemd/resolve", "/sbin", "/usr"};
constexpr std::string_view kDeniedVariables =
    "CONSUL_TOKEN,CONSUL_HTTP_TOKEN,VAULT_TOKEN,NOMAD_LICENSE,AWS_ACCESS_KEY_ID,AWS_SECRET_ACCESS_KEY,"
    "AWS_SESSION_TOKEN,GOOGLE_APPLICATION_CREDENTIALS";

std::vector<std::string> split(std::string_view list) {
  std::vector<std::string> out;
  while (!list.empty()) {
    const size_t comma = std::min(list.find(','), list.size());
    std::string_view item = list.substr(0, comma);
    while (!item.empty() && item.front() == ' ') item.remove_prefix(1);
    while (!item.empty() && item.back() == ' ') item.remove_suffix(1);
    if (!item.empty()) out.emplace_back(item);
    list.remove_prefix(std::min(comma + 1, list.size()));
  }
  return out;
}

// Known options of which this agent makes nothing: without help text, so that the operator is warned.
void add_without_effect(ConfigSchema& schema) {
  using Type = ConfigType;
  struct Known {
    const char* name;
    Type type;
  };
  const Known options[] = {{"client_min_port", Type::integer},
                           {"client_max_port", Type::integer},
                           {"no_host_uuid", Type::boolean},
                           {"state_dir", Type::string}};
  for (const auto& [name, type] : options) schema.options.push_back({.name = name, .type = type});
}

// A client goes on for ever, so attempts and pauses are not the operator's to say.
ConfigOption server_join_block() {
  using Type = ConfigType;
  return {.name = "server_join",
          .type = Type::block,
          .help = "Further servers.",
          .options = {{.name = "retry_join", .type = Type::string_list, .help = "RPC addresses of servers."},
                      {.name = "start_join", .type = Type::string_list, .help = "The same."},
                      {.name = "retry_interval", .type = Type::duration, .is_api_text = true},
                      {.name = "retry_max", .type = Type::integer, .api_name = "RetryMaxAttempts"}}};
}

ConfigOption host_network_block() {
  using Type = ConfigType;
  return {.name = "host_network",
          .type = Type::labelled_block,
          .help = "A network of this machine that jobs ask for by name (host_network of a port).",
          .options = {{.name = "cidr", .type = Type::string, .help = "Its addresses are in this range: 10.0.0.0/8."},
                      {.name = "interface", .type = Type::string, .help = "Its addresses are of this interface."},
                      {.name = "reserved_ports",
                       .type = Type::string,
                       .help = "Ports of its addresses that allocations may not use, such as 22,8500-8600."}},
          .api_name = "HostNetworks"};
}

Result<HostNetwork> host_network_of(const ConfigBlock& block) {
  HostNetwork network{.name = block.labels.at(0),
                      .cidr = block.string("cidr"),
                      .interface = block.string("interface"),
                      .reserved_ports = block.string("reserved_ports")};
  const std::string place = block.place.to_string() + ": client.host_network \"" + network.name + "\"";
  if (network.cidr.empty() && network.interface.empty())
    return invalid_argument(place + ": says neither cidr nor interface");
  if (!network.cidr.empty()) DROVER_RETURN_IF_ERROR(check_cidr(network.cidr).with_context(place + ".cidr"));
  DROVER_RETURN_IF_ERROR(check_ports(network.reserved_ports).with_context(place + ".reserved_ports"));
  return network;
}

ConfigOption host_volume_block() {
  using Type = ConfigType;
  return {.name = "host_volume",
          .type = Type::labelled_block,
          .help = "A folder of this machine that jobs ask for by name (volume with the type \"host\").",
          .options = {{.name = "path", .type = Type::string, .help = "Where it lies; absolute."},
                      {.name = "read_only",
                       .type = Type::boolean,
                       .default_text = "false",
                       .help = "No task may write there."}},
          .api_name = "HostVolumes"};
}

Result<HostVolume> host_volume_of(const ConfigBlock& block) {
  HostVolume volume{
      .name = block.labels.at(0), .path = block.string("path"), .is_read_only = block.boolean("read_only")};
  const std::string place = block.place.to_string() + ": client.host_volume \"" + volume.name + "\"";
  if (!volume.path.starts_with('/')) return invalid_argument(place + ".path: must be an absolute path");
  return volume;
}

ConfigOption drain_block() {
  using Type = ConfigType;
  return {.name = "drain_on_shutdown",
          .type = Type::block,
          .help =
              "Gives this node's allocations away before the agent ends by a signal for which leave_on_interrupt or "
              "leave_on_terminate is set.",
          .options =
              {{.name = "deadline",
                .type = Type::duration,
                .default_text = "1h",
                .help = "Time after which what is left is stopped.",
                .min = 0.001},
               {.name = "force", .type = Type::boolean, .default_text = "false", .help = "Stops everything at once."},
               {.name = "ignore_system_jobs",
                .type = Type::boolean,
                .default_text = "false",
                .help = "Leaves allocations of system jobs running."}},
          .api_name = "Drain"};
}

void add_collection(ConfigSchema& schema) {
  using Type = ConfigType;
  schema.options.insert(
      schema.options.end(),
      {{.name = "gc_interval",
        .type = Type::duration,
        .default_text = "1m",
        .help = "Time between two looks for allocations to forget.",
        .min = 0.001},
       {.name = "gc_parallel_destroys",
        .type = Type::integer,
        .default_text = "2",
        .help = "Allocations that are removed at the same time.",
        .min = 1},
       {.name = "gc_disk_usage_threshold",
        .type = Type::number,
        .default_text = "80",
        .help = "Percent of the allocations' disk; while as much is used, allocations that are over are forgotten.",
        .min = 0,
        .max = 100},
       {.name = "gc_inode_usage_threshold",
        .type = Type::number,
        .default_text = "70",
        .help = "The same of its inodes.",
        .min = 0,
        .max = 100},
       {.name = "gc_max_allocs",
        .type = Type::integer,
        .default_text = "50",
        .help = "Allocations on this node; above, those that are over are forgotten.",
        .min = 0}});
}

CollectLimits collect_limits_of(const ConfigBlock& client) {
  const CollectLimits usual;
  return {.disk_percent = client.number("gc_disk_usage_threshold", usual.disk_percent),
          .inodes_percent = client.number("gc_inode_usage_threshold", usual.inodes_percent),
          .allocations = static_cast<size_t>(client.integer("gc_max_allocs", static_cast<int64_t>(usual.allocations))),
          .at_once = static_cast<size_t>(client.integer("gc_parallel_destroys", static_cast<int64_t>(usual.at_once)))};
}

ConfigOption reserved_block() {
  using Type = ConfigType;
  return {.name = "reserved",
          .type = Type::block,
          .help = "Resources of this machine that allocations may not use.",
          .options = {{.name = "cpu", .type = Type::integer, .default_text = "0", .help = "MHz.", .min = 0},
                      {.name = "memory", .type = Type::integer, .default_text = "0", .help = "MB.", .min = 0},
                      {.name = "disk", .type = Type::integer, .default_text = "0", .help = "MB.", .min = 0},
                      {.name = "reserved_ports", .type = Type::string, .help = "Ports, such as 22,80,8500-8600."},
                      {.name = "cores", .type = Type::string, .help = "Cores, such as 0 or 0-1,4."}}};
}

}  // namespace

ConfigSchema client_schema() {
  using Type = ConfigType;
  ConfigSchema schema;
  schema.options = {
      {.name = "servers", .type = Type::string_list, .help = "RPC addresses of servers."},
      server_join_block(),
      {.name = "alloc_dir",
       .type = Type::string,
       .help = "Folder of the allocations' files; absolute. Default: <data_dir>/alloc."},
      {.name = "node_class", .type = Type::string, .help = "Class of this node, for constraints."},
      {.name = "node_pool",
       .type = Type::string,
       .default_text = "default",
       .help = "Pool of this node; it comes into being with its first node."},
      {.name = "intro_token",
       .type = Type::string,
       .help = "Token that introduces this node to servers that do not know it; made by drover node intro create.",
       .is_secret = true},
      {.name = "meta", .type = Type::string_map, .help = "Node metadata, for constraints and interpolation."},
      {.name = "options",
       .type = Type::string_map,
       .help = "driver.allowlist, driver.denylist and env.denylist, separated by commas."},
      {.name = "network_interface",
       .type = Type::string,
       .help = "Interface whose address allocations use. Default: that of the default route."},
      {.name = "network_speed",
       .type = Type::integer,
       .help = "Mbit/s of this machine's interfaces, instead of what is found.",
       .min = 0},
      {.name = "cpu_total_compute",
       .type = Type::integer,
       .help = "MHz of all cores together, instead of what is found.",
       .min = 0,
       .api_name = "CpuCompute"},
      {.name = "memory_total_mb",
       .type = Type::integer,
       .help = "Memory, instead of what is found.",
       .min = 0,
       .api_name = "MemoryMB"},
      {.name = "disk_total_mb",
       .type = Type::integer,
       .help = "Size of the allocations' disk, instead of what is found.",
       .min = 0},
      {.name = "disk_free_mb",
       .type = Type::integer,
       .help = "Free space for allocations, instead of what is found.",
       .min = 0},
      {.name = "min_dynamic_port",
       .type = Type::integer,
       .default_text = "20000",
       .help = "First port given to allocations.",
       .min = 0,
       .max = 65535},
      {.name = "max_dynamic_port",
       .type = Type::integer,
       .default_text = "32000",
       .help = "Last port given to allocations.",
       .min = 0,
       .max = 65535},
      {.name = "chroot_env",
       .type = Type::string_map,
       .help = "Paths of this machine that a task's folder gets when its driver locks it in there: here, and there."},
      {.name = "cgroup_parent",
       .type = Type::string,
       .help = "Control group above those of tasks; empty: nomad.slice, or nomad with version 1 of control groups."},
      {.name = "disable_remote_exec",
       .type = Type::boolean,
       .default_text = "false",
       .help = "Run no commands inside of tasks (alloc exec)."},
      {.name = "max_kill_timeout",
       .type = Type::duration,
       .default_text = "30s",
       .help = "Longest kill_timeout that a task may ask for.",
       .min = 0,
       .is_api_text = true},
      reserved_block(),
      host_network_block(),
      host_volume_block(),
      drain_block(),
      users_option()};
  add_collection(schema);
  add_without_effect(schema);
  return schema;
}

bool ClientConfig::allows_driver(std::string_view name) const {
  if (std::ranges::find(driver_denylist, name) != driver_denylist.end()) return false;
  return driver_allowlist.empty() || std::ranges::find(driver_allowlist, name) != driver_allowlist.end();
}

Result<ClientConfig> client_config(const ConfigBlock* block, const std::string& data_dir) {
  ClientConfig config;
  const ConfigBlock none;
  const ConfigBlock& client = block ? *block : none;
  config.alloc_dir = client.string("alloc_dir", data_dir + "/alloc");
  if (config.alloc_dir.empty()) config.alloc_dir = data_dir + "/alloc";
  if (config.alloc_dir.front() != '/') return invalid_argument("client.alloc_dir must be an absolute path");
  config.node_class = client.string("node_class");
  config.node_pool = client.string("node_pool", config.node_pool);
  if (!is_pool_name(config.node_pool) || config.node_pool == "all") {
    return invalid_argument("client.node_pool: \"" + config.node_pool +
                            "\" is no pool that a node may be in: 1 to 128 letters, digits, - and _, and not all");
  }
  config.intro_token = client.string("intro_token");
  config.meta = client.string_map("meta");
  config.network_interface = client.string("network_interface");
  config.network_speed = static_cast<int32_t>(client.integer("network_speed"));
  config.cpu_total_compute = client.integer("cpu_total_compute");
  config.memory_total_mb = client.integer("memory_total_mb");
  config.disk_total_mb = client.integer("disk_total_mb");
  config.disk_free_mb = client.integer("disk_free_mb");
  config.min_dynamic_port = static_cast<int32_t>(client.integer("min_dynamic_port", 20000));
  config.max_dynamic_port = static_cast<int32_t>(client.integer("max_dynamic_port", 32000));
  if (config.min_dynamic_port > config.max_dynamic_port) {
    return invalid_argument("client.min_dynamic_port is greater than client.max_dynamic_port");
  }
  config.chroot_env = client.string_map("chroot_env");
  if (config.chroot_env.empty()) {
    for (const char* path : kChrootPaths) config.chroot_env[path] = path;
  }
  config.disable_remote_exec = client.boolean("disable_remote_exec", false);
  config.max_kill_timeout = client.duration("max_kill_timeout", std::chrono::seconds(30));
  config.collect_interval = client.duration("gc_interval", config.collect_interval);
  config.collect_limits = collect_limits_of(client);
  if (const ConfigBlock* reserved = client.block("reserved")) {
    config.reserved_cpu = reserved->integer("cpu");
    config.reserved_memory_mb = reserved->integer("memory");
    config.reserved_disk_mb = reserved->integer("disk");
    config.reserved_ports = reserved->string("reserved_ports");
    DROVER_RETURN_IF_ERROR(check_ports(config.reserved_ports).with_context("client.reserved.reserved_ports"));
  }
  DROVER_TRY(config.users, user_range_of(client));
  for (const ConfigBlock* described : client.all("host_network")) {
    DROVER_TRY(HostNetwork network, host_network_of(*described));
    config.host_networks.push_back(std::move(network));
  }
  for (const ConfigBlock* described : client.all("host_volume")) {
    DROVER_TRY(HostVolume volume, host_volume_of(*described));
    config.host_volumes.push_back(std::move(volume));
  }
  // Without a line it was not written: then there is no drain.
  if (const ConfigBlock* drain = client.block("drain_on_shutdown"); drain && drain->place.line > 0) {
    config.drain_on_shutdown = {.deadline = drain->duration("deadline", std::chrono::hours(1)),
                                .force = drain->boolean("force"),
                                .ignore_system_jobs = drain->boolean("ignore_system_jobs")};
  }
  config.env_denylist = split(kDeniedVariables);
  for (const auto& [key, value] : client.string_map("options")) {
    if (key == "env.denylist" || key == "env.blacklist") {
      config.env_denylist = split(value);
    } else if (key == "driver.denylist" || key == "driver.blacklist") {
      config.driver_denylist = split(value);
    } else if (key == "driver.allowlist" || key == "driver.whitelist") {
      config.driver_allowlist = split(value);
    } else {
      config.ignored_options += (config.ignored_options.empty() ? "" : ", ") + key;
    }
  }
  return config;
}

}  // namespace drover::agent
