// The kernel's own options of the agent's configuration, and how those of the plugins join them.
#include <algorithm>
#include <iterator>

#include "drover/agent_config.h"
#include "plugin_options.h"

namespace drover {
namespace {

using Type = ConfigType;

ConfigOption option(std::string name, Type type, std::string fallback = {}, std::string help = {}) {
  return {.name = std::move(name), .type = type, .default_text = std::move(fallback), .help = std::move(help)};
}

ConfigOption block(std::string name, std::vector<ConfigOption> options) {
  return {.name = std::move(name), .type = Type::block, .options = std::move(options)};
}

ConfigOption shown_as(std::string api_name, ConfigOption option) {
  option.api_name = std::move(api_name);
  return option;
}

ConfigOption shown_as_text(ConfigOption option) {
  option.is_api_text = true;
  return option;
}

std::vector<ConfigOption> with_type(Type type, std::initializer_list<const char*> names) {
  std::vector<ConfigOption> options;
  for (const char* name : names) options.push_back(option(name, type));
  return options;
}

std::vector<ConfigOption> addresses() { return with_type(Type::string, {"http", "rpc", "serf"}); }

// Blocks of existing files that belong to no plugin yet. They are accepted whatever they hold, and each one set is
// reported.
constexpr std::string_view kNobodysBlocks[] = {"audit", "sentinel", "ui"};

ConfigOption refused(ConfigOption option, std::string why) {
  option.refusal = std::move(why);
  return option;
}

ConfigOption secret(ConfigOption option) {
  option.is_secret = true;
  return option;
}

std::vector<ConfigOption> tls_options() {
  return {
      shown_as("EnableHTTP", option("http", Type::boolean, "false", "TLS for the HTTP API.")),
      shown_as("EnableRPC", option("rpc", Type::boolean, "false", "Mutual TLS between agents.")),
      option("ca_file", Type::string, "", "The authority that the others' certificates are of."),
      option("cert_file", Type::string, "", "This agent's certificate."),
      option("key_file", Type::string, "", "The key of that certificate."),
      option("verify_server_hostname", Type::boolean, "false",
             "Names of servers are always checked; this changes nothing."),
      option("verify_https_client", Type::boolean, "false",
             "Serve the HTTP API to clients with a certificate of ca_file only."),
      refused(option("rpc_upgrade_mode", Type::boolean, "false"),
              "connections in the clear beside encrypted ones would let in whoever has no certificate; set tls.rpc on "
              "all agents and restart them"),
      option("tls_cipher_suites", Type::string, "",
             "Cipher suites of TLS 1.2 for the HTTP API, with commas between them."),
      option("tls_min_version", Type::string, "", "tls12 or tls13: the oldest version that the HTTP API speaks."),
      option("tls_prefer_server_cipher_suites", Type::boolean, "false",
             "The HTTP API takes the first suite of its own list that the client has."),
  };
}

ConfigSchema core_schema() {
  ConfigSchema schema;
  auto& o = schema.options;
  o = {
      option("region", Type::string, "global", "Region of this agent."),
      option("datacenter", Type::string, "dc1", "Datacenter of this agent."),
      shown_as("NodeName", option("name", Type::string, "",
                                  "Name of this agent, unique in its region; the host's name by default.")),
      option("data_dir", Type::string, "", "Folder for everything that outlives the agent. Absolute."),
      option("plugin_dir", Type::string, "",
             "Folder with further plugins, beside the installed ones and <data_dir>/plugins."),
      option("bind_addr", Type::string, "0.0.0.0", "Address to listen on."),
      block(
          "ports",
          {{.name = "http", .type = Type::integer, .default_text = "4646", .help = "HTTP API.", .min = 0, .max = 65535},
           {.name = "rpc",
            .type = Type::integer,
            .default_text = "4647",
            .help = "Calls between agents.",
            .min = 0,
            .max = 65535},
           {.name = "serf",
            .type = Type::integer,
            .default_text = "4648",
            .help = "Gossip between servers, TCP and UDP.",
            .min = 0,
            .max = 65535}}),
      block("addresses", addresses()),
      shown_as("AdvertiseAddrs", block("advertise", addresses())),
      {.name = "log_level",
       .type = Type::string,
       .default_text = "INFO",
       .help = "Least severe lines to write.",
       .one_of = {"TRACE", "DEBUG", "INFO", "WARN", "ERROR", "trace", "debug", "info", "warn", "error"}},
      option("log_json", Type::boolean, "false", "One JSON object a log line."),
      option("log_file", Type::string, "", "Also write the log to this file, or to drover.log in this folder."),
      option("log_rotate_bytes", Type::bytes, "0", "Start a new log file at this size; 0: never."),
      shown_as_text(option("log_rotate_duration", Type::duration, "24h")),
      option("log_rotate_max_files", Type::integer, "0", "Old log files to keep; 0: the newest hundred."),
      option("enable_syslog", Type::boolean, "false"),
      option("syslog_facility", Type::string, "LOCAL0"),
      option("enable_debug", Type::boolean, "false", "Let the API take profiles of this agent."),
      shown_as("LeaveOnInt", option("leave_on_interrupt", Type::boolean, "false", "Leave orderly on SIGINT.")),
      shown_as("LeaveOnTerm", option("leave_on_terminate", Type::boolean, "false", "Leave orderly on SIGTERM.")),
      option("disable_update_check", Type::boolean, "false"),
      option("disable_anonymous_signature", Type::boolean, "false"),
      option("http_api_response_headers", Type::string_map, "", "Headers on every answer of the API."),
      block("acl",
            {option("enabled", Type::boolean, "false", "Asks who calls, and what for. On all agents or none."),
             option("token_ttl", Type::duration, "30s", "How long a node trusts a server's word on a token."),
             option("policy_ttl", Type::duration, "30s", "The same of what policies say, of any caller."),
             option("role_ttl", Type::duration, "30s", "The same of the policies that a token has through roles."),
             secret(option("replication_token", Type::string)),
             option("token_min_expiration_ttl", Type::duration, "1m", "The shortest life of a token that ends."),
             option("token_max_expiration_ttl", Type::duration, "24h", "The longest life of a token that ends.")}),
      shown_as("TLSConfig", block("tls", tls_options())),
      {.name = "plugin", .type = Type::labelled_block, .options = plugin_options(), .api_name = "Plugins"},
  };
  return schema;
}

// The server block's options of consensus and of the agent as a whole.
std::vector<ConfigOption> server_options() {
  std::vector<ConfigOption> options = {
      option("enabled", Type::boolean, "false", "Run as a server."),
      {.name = "bootstrap_expect",
       .type = Type::integer,
       .default_text = "0",
       .help = "Servers that a new cluster begins with; 0: this server waits to be added to one.",
       .min = 0,
       .max = 9},
      {.name = "raft_multiplier",
       .type = Type::integer,
       .default_text = "1",
       .help = "Scales heartbeats and election timeouts, for slow or distant machines.",
       .min = 1,
       .max = 10},
      option("raft_lease_reads", Type::boolean, "false",
             "Let a leader answer reads without asking the others, for as long as they have promised to elect nobody "
             "else. "
             "Sound only while no server's clock runs more than 500 ppm faster or slower than another's; time that a "
             "machine is suspended is counted, time that its hypervisor hides from it is not."),
      shown_as_text(option(
          "raft_scrub_interval", Type::duration, "24h",
          "How long after the last time a server reads its log and its snapshots again, slowly, to see whether the "
          "disk still holds them; 0s: never. Damage is logged, counted (nomad.raft.scrub.errors) and makes the server "
          "unhealthy; a restart repairs it from the leader.")),
      option("raft_snapshot_threshold", Type::integer, "8192"),
      option("raft_trailing_logs", Type::integer, "10240"),
      shown_as("RaftBoltConfig", option("raft_boltdb", Type::any)),
  };
  for (auto& o : with_type(Type::string, {"data_dir", "authoritative_region", "raft_snapshot_interval", "license_path",
                                          "raft_protocol", "protocol_version"})) {
    options.push_back(std::move(o));
  }
  return options;
}

}  // namespace

ConfigSchema agent_schema(const DeclaredBlocks& declared) {
  ConfigSchema schema = core_schema();
  std::map<std::string, std::vector<ConfigOption>> blocks;
  blocks["server"] = server_options();
  blocks["client"] = {option("enabled", Type::boolean, "false", "Run as a client: a node that runs allocations.")};
  for (const auto& [name, block_schema] : declared) {
    if (name.starts_with("plugin:") || name.starts_with(kPluginKind)) continue;
    std::ranges::copy(block_schema.options, std::back_inserter(blocks[name]));
  }
  for (auto& [name, options] : blocks) schema.options.push_back(block(name, options));
  for (std::string_view name : kNobodysBlocks) {
    if (!blocks.contains(std::string(name))) schema.options.push_back(option(std::string(name), Type::any));
  }
  return schema;
}

}  // namespace drover
