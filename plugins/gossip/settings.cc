#include "settings.h"

#include "address.h"

namespace drover::gossip {
namespace {

// Without defaults: the block and its older form are laid over each other.
std::vector<ConfigOption> join_options() {
  return {
      {.name = "start_join",
       .type = ConfigType::string_list,
       .help = "Servers of which one must be joined, or the agent does not start."},
      {.name = "retry_join", .type = ConfigType::string_list, .help = "Servers that are tried until one is joined."},
      {.name = "retry_interval",
       .type = ConfigType::duration,
       .help = "Time between attempts to join; 30s by default.",
       .min = 0.01},
      {.name = "retry_max",
       .type = ConfigType::integer,
       .help = "Attempts to join before the agent ends; 0, the default: no end.",
       .min = 0,
       .api_name = "RetryMaxAttempts"}};
}

// The values of one block, `server` or `server_join`, over what is there.
void read_join(const ConfigBlock& block, Settings& settings) {
  if (block.has("start_join")) settings.start_join = block.string_list("start_join");
  if (block.has("retry_join")) settings.retry_join = block.string_list("retry_join");
  settings.retry_interval = block.duration("retry_interval", settings.retry_interval);
  settings.retry_max = block.integer("retry_max", settings.retry_max);
}

}  // namespace

ConfigSchema server_schema() {
  ConfigSchema schema{.options = join_options()};  // the older form of the block
  schema.options.push_back({.name = "server_join", .type = ConfigType::block, .options = join_options()});
  schema.options.push_back({.name = "encrypt",
                            .type = ConfigType::string,
                            .help = "Key of the gossip between servers: 16, 24 or 32 bytes in base64.",
                            .api_name = "EncryptKey",
                            .is_secret = true});
  schema.options.push_back({.name = "rejoin_after_leave",
                            .type = ConfigType::boolean,
                            .default_text = "false",
                            .help = "Look for the other servers again after having left."});
  return schema;
}

Result<Settings> read_settings(const Host& host) {
  Settings settings;
  const ConfigBlock* server = host.configuration("server");
  if (!server) return settings;
  settings.bootstrap_expect = static_cast<int>(server->integer("bootstrap_expect"));
  if (host.agent().dev_mode) settings.bootstrap_expect = 1;
  settings.encrypt = server->string("encrypt");
  settings.rejoin_after_leave = server->boolean("rejoin_after_leave");
  read_join(*server, settings);
  if (const ConfigBlock* join = server->block("server_join")) read_join(*join, settings);
  for (const auto* list : {&settings.start_join, &settings.retry_join}) {
    for (const std::string& text : *list) {
      DROVER_RETURN_IF_ERROR(parse_address(text).status().with_context("server_join"));
    }
  }
  if (!settings.start_join.empty() && !settings.retry_join.empty())
    return invalid_argument("server_join: start_join and retry_join exclude each other; name one");
  if (const ConfigBlock* ports = host.configuration("ports")) {
    const auto at = ports->attributes.find("serf");
    settings.is_port_said = at != ports->attributes.end() && !at->second.place.file.empty();
  }
  return settings;
}

}  // namespace drover::gossip
