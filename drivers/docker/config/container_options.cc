#include "config/container_options.h"

#include <algorithm>

#include "config/fields.h"

namespace drover::docker {
namespace {

constexpr int64_t kLongestPeriod = 1'000'000;  // of the kernel's scheduler, microseconds

bool is_space(char c) { return c == ' ' || c == '\t' || c == '\n' || c == '\r'; }

std::string trimmed(std::string text) {
  while (!text.empty() && is_space(text.front())) text.erase(0, 1);
  while (!text.empty() && is_space(text.back())) text.pop_back();
  return text;
}

Status check_command(const std::string& command) {
  const std::string bare = trimmed(command);
  if (bare.empty()) return invalid_argument("command empty: \"" + command + "\"");
  if (bare != command) return invalid_argument("command contains extra white space: \"" + command + "\"");
  return ok_status();
}

void read_scalars(Fields& fields, ContainerOptions& out) {
  const std::pair<const char*, std::string*> texts[] = {{"image", &out.image},
                                                        {"load", &out.load},
                                                        {"hostname", &out.hostname},
                                                        {"work_dir", &out.work_dir},
                                                        {"mac_address", &out.mac_address},
                                                        {"ipv4_address", &out.ipv4_address},
                                                        {"ipv6_address", &out.ipv6_address},
                                                        {"network_mode", &out.network_mode},
                                                        {"volume_driver", &out.volume_driver},
                                                        {"runtime", &out.runtime},
                                                        {"isolation", &out.isolation},
                                                        {"ipc_mode", &out.ipc_mode},
                                                        {"pid_mode", &out.pid_mode},
                                                        {"userns_mode", &out.userns_mode},
                                                        {"uts_mode", &out.uts_mode},
                                                        {"cpuset_cpus", &out.cpuset_cpus}};
  for (const auto& [name, at] : texts) *at = fields.text(name);
  const std::pair<const char*, bool*> booleans[] = {{"tty", &out.tty},
                                                    {"interactive", &out.interactive},
                                                    {"force_pull", &out.force_pull},
                                                    {"auth_soft_fail", &out.auth_soft_fail},
                                                    {"privileged", &out.privileged},
                                                    {"readonly_rootfs", &out.readonly_rootfs},
                                                    {"init", &out.init},
                                                    {"advertise_ipv6_address", &out.advertise_ipv6},
                                                    {"cpu_hard_limit", &out.cpu_hard_limit}};
  for (const auto& [name, at] : booleans) *at = fields.boolean(name);
  const std::pair<const char*, int64_t*> numbers[] = {{"cpu_cfs_period", &out.cpu_cfs_period},
                                                      {"memory_hard_limit", &out.memory_hard_limit_mb},
                                                      {"pids_limit", &out.pids_limit},
                                                      {"shm_size", &out.shm_size}};
  for (const auto& [name, at] : numbers) *at = fields.integer(name, *at);
  out.image_pull_timeout = fields.duration("image_pull_timeout", out.image_pull_timeout);
}

void read_lists(Fields& fields, ContainerOptions& out) {
  const std::pair<const char*, std::vector<std::string>*> lists[] = {{"args", &out.args},
                                                                     {"entrypoint", &out.entrypoint},
                                                                     {"cap_add", &out.cap_add},
                                                                     {"cap_drop", &out.cap_drop},
                                                                     {"dns_servers", &out.dns_servers},
                                                                     {"dns_options", &out.dns_options},
                                                                     {"dns_search_domains", &out.dns_search_domains},
                                                                     {"extra_hosts", &out.extra_hosts},
                                                                     {"network_aliases", &out.network_aliases},
                                                                     {"security_opt", &out.security_opt},
                                                                     {"volumes", &out.volumes}};
  for (const auto& [name, at] : lists) *at = fields.texts(name);
  out.ports = fields.maybe_texts("ports");
  const std::pair<const char*, std::map<std::string, std::string>*> maps[] = {{"labels", &out.labels},
                                                                              {"storage_opt", &out.storage_opt},
                                                                              {"sysctl", &out.sysctl},
                                                                              {"ulimit", &out.ulimit},
                                                                              {"port_map", &out.port_map}};
  for (const auto& [name, at] : maps) *at = fields.map(name);
}

Result<MountOption> read_mount(Fields fields) {
  MountOption out;
  out.type = fields.text("type", out.type);
  out.target = fields.text("target");
  out.source = fields.text("source");
  out.readonly = fields.boolean("readonly");
  if (auto bind = fields.block("bind_options")) {
    out.propagation = bind->text("propagation");
    DROVER_RETURN_IF_ERROR(bind->finish());
  }
  if (auto tmpfs = fields.block("tmpfs_options")) {
    out.tmpfs_size = tmpfs->integer("size");
    out.tmpfs_mode = tmpfs->integer("mode");
    DROVER_RETURN_IF_ERROR(tmpfs->finish());
  }
  if (auto volume = fields.block("volume_options")) {
    out.no_copy = volume->boolean("no_copy");
    out.labels = volume->map("labels");
    if (auto driver = volume->block("driver_config")) {
      out.driver = driver->text("name");
      out.driver_options = driver->map("options");
      DROVER_RETURN_IF_ERROR(driver->finish());
    }
    DROVER_RETURN_IF_ERROR(volume->finish());
  }
  DROVER_RETURN_IF_ERROR(fields.finish());
  return out;
}

Status read_blocks(Fields& fields, ContainerOptions& out) {
  if (auto auth = fields.block("auth")) {
    out.auth = AuthOption{.username = auth->text("username"),
                          .password = auth->text("password"),
                          .email = auth->text("email"),
                          .server_address = auth->text("server_address")};
    DROVER_RETURN_IF_ERROR(auth->finish());
  }
  if (auto logging = fields.block("logging")) {
    const std::string type = logging->text("type"), driver = logging->text("driver");
    out.logging = LoggingOption{.driver = driver.empty() ? type : driver, .config = logging->map("config")};
    DROVER_RETURN_IF_ERROR(logging->finish());
    if (!type.empty() && !driver.empty() && type != driver)
      return invalid_argument("config option \"logging\" has type \"" + type + "\" and driver \"" + driver +
                              "\", two names of one thing");
  }
  if (auto checks = fields.block("healthchecks")) {
    out.disables_healthcheck = checks->boolean("disable");
    DROVER_RETURN_IF_ERROR(checks->finish());
  }
  for (Fields& device : fields.blocks("devices")) {
    out.devices.push_back({.host_path = device.text("host_path"),
                           .container_path = device.text("container_path"),
                           .permissions = device.text("cgroup_permissions")});
    DROVER_RETURN_IF_ERROR(device.finish());
  }
  for (const char* name : {"mounts", "mount"}) {
    for (Fields& mount : fields.blocks(name)) {
      DROVER_TRY(MountOption read, read_mount(std::move(mount)));
      out.mounts.push_back(std::move(read));
    }
  }
  return ok_status();
}

Status check(const ContainerOptions& options) {
  if (options.image.empty() || options.image == "https://")
    return invalid_argument("image name required for docker driver");
  if (options.command) DROVER_RETURN_IF_ERROR(check_command(*options.command));
  if (options.cpu_cfs_period < 0 || options.cpu_cfs_period > kLongestPeriod)
    return invalid_argument("invalid value for cpu_cfs_period");
  const std::pair<const char*, int64_t> numbers[] = {{"memory_hard_limit", options.memory_hard_limit_mb},
                                                     {"pids_limit", options.pids_limit},
                                                     {"shm_size", options.shm_size}};
  for (const auto& [name, value] : numbers) {
    if (value < 0) return invalid_argument("config option \"" + std::string(name) + "\" must not be negative");
  }
  if (!options.isolation.empty() && options.isolation != "default")
    return invalid_argument("image \"" + options.image + "\" cannot use isolation mode \"" + options.isolation +
                            "\" on linux");
  if (!options.port_map.empty() && options.ports)
    return invalid_argument("'port_map' cannot map group network ports, use 'ports' instead");
  return ok_status();
}

}  // namespace

Result<ContainerOptions> read_container_options(std::string_view msgpack) {
  DROVER_TRY(Fields fields, Fields::from_msgpack(msgpack));
  ContainerOptions out;
  read_scalars(fields, out);
  // An empty text is no command, as where nothing is written.
  if (std::string command = fields.text("command"); !command.empty()) out.command = std::move(command);
  read_lists(fields, out);
  DROVER_RETURN_IF_ERROR(read_blocks(fields, out));
  DROVER_RETURN_IF_ERROR(fields.finish());
  DROVER_RETURN_IF_ERROR(check(out));
  return out;
}

}  // namespace drover::docker
