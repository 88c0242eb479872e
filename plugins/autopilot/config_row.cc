#include "config_row.h"

#include "drover/api/operator.pb.h"
#include "drover/duration.h"

namespace drover::autopilot {
namespace {

Status read_duration(std::string_view field, const std::string& text, std::chrono::nanoseconds& into) {
  if (text.empty()) return ok_status();  // the default
  auto duration = parse_duration(text);
  if (!duration) return duration.status().with_context(field);
  if (*duration < std::chrono::nanoseconds(0)) return invalid_argument(std::string(field) + " is negative");
  into = *duration;
  return ok_status();
}

}  // namespace

ConfigSchema config_schema() {
  using enum ConfigType;
  return {.options = {{.name = "cleanup_dead_servers",
                       .type = boolean,
                       .default_text = "true",
                       .help = "Remove servers from the cluster that have failed."},
                      {.name = "last_contact_threshold",
                       .type = duration,
                       .default_text = "200ms",
                       .help = "A healthy server has been heard within this time.",
                       .min = 0},
                      {.name = "max_trailing_logs",
                       .type = integer,
                       .default_text = "250",
                       .help = "Entries of the log by which a healthy server may be behind.",
                       .min = 0},
                      {.name = "min_quorum",
                       .type = integer,
                       .default_text = "0",
                       .help = "Voters below which no failed server is removed.",
                       .min = 0},
                      {.name = "server_stabilization_time",
                       .type = duration,
                       .default_text = "10s",
                       .help = "How long a new server must be healthy before it votes.",
                       .min = 0},
                      {.name = "enable_redundancy_zones", .type = boolean},
                      {.name = "disable_upgrade_migration", .type = boolean},
                      {.name = "enable_custom_upgrades", .type = boolean}}};
}

v1::AutopilotConfiguration initial_configuration(const ConfigBlock* block) {
  const Config defaults;
  const ConfigBlock none;
  const ConfigBlock& from = block ? *block : none;
  v1::AutopilotConfiguration out;
  out.set_cleanup_dead_servers(from.boolean("cleanup_dead_servers", defaults.cleanup_dead_servers));
  out.set_last_contact_threshold(
      format_duration(from.duration("last_contact_threshold", defaults.last_contact_threshold)));
  out.set_max_trailing_logs(
      static_cast<uint64_t>(from.integer("max_trailing_logs", static_cast<int64_t>(defaults.max_trailing_logs))));
  out.set_min_quorum(static_cast<uint64_t>(from.integer("min_quorum", 0)));
  out.set_server_stabilization_time(
      format_duration(from.duration("server_stabilization_time", defaults.server_stabilization_time)));
  return out;
}

Result<Config> to_config(const v1::AutopilotConfiguration& configuration) {
  if (configuration.enable_redundancy_zones())
    return invalid_argument("EnableRedundancyZones: redundancy zones are not available in this version");
  if (configuration.enable_custom_upgrades())
    return invalid_argument("EnableCustomUpgrades: upgrade migrations are not available in this version");
  Config config;
  config.cleanup_dead_servers = configuration.cleanup_dead_servers();
  config.max_trailing_logs = configuration.max_trailing_logs();
  config.min_quorum = configuration.min_quorum();
  DROVER_RETURN_IF_ERROR(
      read_duration("LastContactThreshold", configuration.last_contact_threshold(), config.last_contact_threshold));
  DROVER_RETURN_IF_ERROR(read_duration("ServerStabilizationTime", configuration.server_stabilization_time(),
                                       config.server_stabilization_time));
  return config;
}

}  // namespace drover::autopilot
