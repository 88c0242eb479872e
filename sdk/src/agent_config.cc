#include "drover/agent_config.h"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <set>

#include "drover/nearest.h"

namespace drover {
namespace {

namespace fs = std::filesystem;
using Type = ConfigType;

// --- flags ---------------------------------------------------------------------------------------------------------

struct Flag {
  std::string_view name;
  std::string_view path;  // option that it sets; "" when it is handled apart
  bool takes_value;
  std::string_view help;
};

constexpr std::array kFlags = {
    Flag{"config", "", true, "Configuration file, or folder of *.hcl and *.json files. Repeatable; later ones win."},
    Flag{"dev", "", false, "Server and client in one process, state in a temporary folder, API on 127.0.0.1."},
    Flag{"bind", "bind_addr", true, "Address to listen on."},
    Flag{"data-dir", "data_dir", true, "Folder for everything that outlives the agent. Absolute."},
    Flag{"plugin-dir", "plugin_dir", true, "Folder with further plugins."},
    Flag{"dc", "datacenter", true, "Datacenter of this agent."},
    Flag{"node", "name", true, "Name of this agent; the host's name by default."},
    Flag{"region", "region", true, "Region of this agent."},
    Flag{"log-level", "log_level", true, "TRACE, DEBUG, INFO, WARN or ERROR."},
    Flag{"log-json", "log_json", false, "One JSON object a log line."},
    Flag{"server", "server.enabled", false, "Run as a server."},
    Flag{"bootstrap-expect", "server.bootstrap_expect", true, "Servers of a new cluster."},
    Flag{"retry-join", "server.server_join.retry_join", true, "Another server's gossip address. Repeatable."},
    Flag{"retry-interval", "server.server_join.retry_interval", true, "Time between attempts to join."},
    Flag{"retry-max", "server.server_join.retry_max", true, "Attempts to join before the agent ends; 0: no end."},
    Flag{"join", "server.server_join.start_join", true, "A server that must be joined at the start. Repeatable."},
    Flag{"encrypt", "server.encrypt", true, "Key of the gossip between servers: 16, 24 or 32 bytes in base64."},
    Flag{"client", "client.enabled", false, "Run as a client: a node that runs allocations."},
    Flag{"servers", "client.servers", true, "RPC addresses of servers, separated by commas."},
    Flag{"node-class", "client.node_class", true, "Class of this node, for constraints."},
    Flag{"meta", "client.meta", true, "Node metadata, key=value. Repeatable."},
    Flag{"state-dir", "client.state_dir", true, "Folder of the client's state."},
    Flag{"alloc-dir", "client.alloc_dir", true, "Folder of the allocations' files."},
    Flag{"network-interface", "client.network_interface", true, "Interface whose address allocations use."},
};

void set(ConfigBlock& root, std::string_view path, hcl::Value value, std::string_view flag) {
  ConfigBlock* at = &root;
  while (true) {
    const size_t dot = path.find('.');
    if (dot == std::string_view::npos) break;
    const std::string name(path.substr(0, dot));
    path.remove_prefix(dot + 1);
    auto child = std::ranges::find(at->blocks, name, &ConfigBlock::name);
    if (child == at->blocks.end()) {
      at->blocks.push_back({.name = name, .place = {.file = "flag -" + std::string(flag)}});
      child = std::prev(at->blocks.end());
    }
    at = &*child;
  }
  at->attributes.insert_or_assign(std::string(path),
                                  ConfigAttribute{std::move(value), {.file = "flag -" + std::string(flag)}});
}

Result<std::vector<std::string>> files_of(const std::string& path) {
  std::error_code error;
  if (!fs::is_directory(path, error)) return std::vector<std::string>{path};
  std::vector<std::string> files;
  for (const auto& entry : fs::directory_iterator(path, error)) {
    const std::string name = entry.path().filename();
    if (name.starts_with(".") || name.ends_with("~") || name.starts_with("#")) continue;
    if (name.ends_with(".hcl") || name.ends_with(".json")) files.push_back(entry.path());
  }
  if (error) return errno_status(error.value(), path);
  std::ranges::sort(files);
  return files;
}

// --- the kernel's part of the schema ---------------------------------------------------------------------------------

ConfigOption option(std::string name, Type type, std::string fallback = {}, std::string help = {}) {
  return {.name = std::move(name), .type = type, .default_text = std::move(fallback), .help = std::move(help)};
}

ConfigOption block(std::string name, std::vector<ConfigOption> options) {
  return {.name = std::move(name), .type = Type::block, .options = std::move(options)};
}

std::vector<ConfigOption> with_type(Type type, std::initializer_list<const char*> names) {
  std::vector<ConfigOption> options;
  for (const char* name : names) options.push_back(option(name, type));
  return options;
}

std::vector<ConfigOption> addresses() { return with_type(Type::string, {"http", "rpc", "serf"}); }

// Blocks of the configuration language that no part of this version reads, unless a plugin declares them. They are
// accepted whatever they hold, so that existing files load, and each one set is reported.
constexpr std::array<std::string_view, 6> kDormantBlocks = {"consul", "vault", "autopilot", "audit", "sentinel", "ui"};

ConfigSchema core_schema() {
  ConfigSchema schema;
  auto& o = schema.options;
  o = {
      option("region", Type::string, "global", "Region of this agent."),
      option("datacenter", Type::string, "dc1", "Datacenter of this agent."),
      option("name", Type::string, "", "Name of this agent, unique in its region; the host's name by default."),
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
      block("advertise", addresses()),
      {.name = "log_level",
       .type = Type::string,
       .default_text = "INFO",
       .help = "Least severe lines to write.",
       .one_of = {"TRACE", "DEBUG", "INFO", "WARN", "ERROR", "trace", "debug", "info", "warn", "error"}},
      option("log_json", Type::boolean, "false", "One JSON object a log line."),
      option("log_file", Type::string, "", "Also write the log to this file, or to drover.log in this folder."),
      option("log_rotate_bytes", Type::bytes, "0", "Start a new log file at this size; 0: never."),
      option("log_rotate_duration", Type::duration, "24h"),
      option("log_rotate_max_files", Type::integer, "0", "Old log files to keep; 0: the newest hundred."),
      option("enable_syslog", Type::boolean, "false"),
      option("syslog_facility", Type::string, "LOCAL0"),
      option("enable_debug", Type::boolean, "false"),
      option("leave_on_interrupt", Type::boolean, "false", "Leave orderly on SIGINT."),
      option("leave_on_terminate", Type::boolean, "false", "Leave orderly on SIGTERM."),
      option("disable_update_check", Type::boolean, "false"),
      option("disable_anonymous_signature", Type::boolean, "false"),
      option("http_api_response_headers", Type::string_map, "", "Headers on every answer of the API."),
      block("acl", {option("enabled", Type::boolean, "false"), option("token_ttl", Type::duration, "30s"),
                    option("policy_ttl", Type::duration, "30s"), option("role_ttl", Type::duration, "30s"),
                    option("replication_token", Type::string), option("token_min_expiration_ttl", Type::duration, "1m"),
                    option("token_max_expiration_ttl", Type::duration, "24h")}),
      block("tls", {option("http", Type::boolean, "false"), option("rpc", Type::boolean, "false"),
                    option("ca_file", Type::string), option("cert_file", Type::string),
                    option("key_file", Type::string), option("verify_server_hostname", Type::boolean, "false"),
                    option("verify_https_client", Type::boolean, "false"),
                    option("rpc_upgrade_mode", Type::boolean, "false"), option("tls_cipher_suites", Type::string),
                    option("tls_min_version", Type::string), option("tls_prefer_server_cipher_suites", Type::boolean)}),
      {.name = "plugin",
       .type = Type::labelled_block,
       .options = {option("enabled", Type::boolean, "", "Load this plugin."), option("args", Type::string_list),
                   option("auto_mtls", Type::boolean, "false",
                          "Ask the plugin, a program of its own, for TLS on its socket (go-plugin's AutoMTLS)."),
                   option("digest", Type::string, "", "SHA-256 that the plugin's file must have, in hexadecimal."),
                   option("config", Type::any)}},
  };
  return schema;
}

// The server block's options that belong to nobody else. Effective ones have a help text.
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
      option(
          "raft_scrub_interval", Type::duration, "24h",
          "How long after the last time a server reads its log and its snapshots again, slowly, to see whether the "
          "disk still holds them; 0s: never. Damage is logged, counted (nomad.raft.scrub.errors) and makes the server "
          "unhealthy; a restart repairs it from the leader."),
      option("raft_snapshot_threshold", Type::integer, "8192"),
      option("raft_trailing_logs", Type::integer, "10240"),
  };
  for (auto& o : with_type(Type::string, {"data_dir",
                                          "authoritative_region",
                                          "encrypt",
                                          "raft_snapshot_interval",
                                          "redundancy_zone",
                                          "upgrade_version",
                                          "license_path",
                                          "raft_protocol",
                                          "protocol_version",
                                          "retry_interval",
                                          "retry_max",
                                          "node_gc_threshold",
                                          "job_gc_interval",
                                          "job_gc_threshold",
                                          "eval_gc_threshold",
                                          "batch_eval_gc_threshold",
                                          "deployment_gc_threshold",
                                          "csi_volume_claim_gc_interval",
                                          "csi_volume_claim_gc_threshold",
                                          "csi_plugin_gc_threshold",
                                          "acl_token_gc_threshold",
                                          "root_key_gc_interval",
                                          "root_key_gc_threshold",
                                          "root_key_rotation_threshold",
                                          "rejoin_after_leave",
                                          "non_voting_server",
                                          "enable_event_broker",
                                          "event_buffer_size",
                                          "deploy_query_rate_limit",
                                          "job_max_priority",
                                          "job_default_priority",
                                          "num_schedulers",
                                          "failover_heartbeat_ttl"})) {
    options.push_back(std::move(o));
  }
  for (const char* name : {"server_join", "start_join", "retry_join", "raft_boltdb", "default_scheduler_config",
                           "enabled_schedulers", "plan_rejection_tracker", "search"}) {
    options.push_back(option(name, Type::any));
  }
  return options;
}

void merge_options(std::vector<ConfigOption>& into, const std::vector<ConfigOption>& more) {
  for (const ConfigOption& o : more) {
    auto at = std::ranges::find(into, o.name, &ConfigOption::name);
    if (at == into.end()) {
      into.push_back(o);
    } else {
      *at = o;  // who reads an option knows it best
    }
  }
}

// Options without help are the ones nobody reads.
void warn_dormant(const ConfigBlock& raw, const std::vector<ConfigOption>& options, const std::string& path,
                  std::vector<std::string>& warnings) {
  for (const ConfigOption& o : options) {
    const std::string name = path.empty() ? o.name : path + "." + o.name;
    const ConfigBlock* child = raw.block(o.name);
    auto attribute = raw.attributes.find(o.name);
    const bool is_set = child || attribute != raw.attributes.end();
    if (!is_set || path == "acl" || path == "tls" || o.name == "plugin") continue;
    if (o.type == Type::block) {
      if (child) warn_dormant(*child, o.options, name, warnings);
      continue;
    }
    if (!o.help.empty() || path == "addresses" || path == "advertise") continue;
    const ConfigPlace& place = child ? child->place : attribute->second.place;
    warnings.push_back(place.to_string() + ": option " + name + " has no effect in this version");
  }
}

Status refuse_unsafe(const ConfigBlock& checked) {
  const ConfigBlock* acl = checked.block("acl");
  if (acl && acl->boolean("enabled")) {
    return failed_precondition(acl->place.to_string() +
                               ": acl.enabled: access control lists are not available in this version; "
                               "the agent does not start rather than serve everybody");
  }
  const ConfigBlock* tls = checked.block("tls");
  if (tls && tls->boolean("http")) {
    return failed_precondition(tls->place.to_string() +
                               ": tls.http: encryption of the API is not available in this version; the agent does "
                               "not start rather than serve in the clear");
  }
  return ok_status();
}

bool is_secret(std::string_view name) {
  static const std::set<std::string_view> kSecrets = {"encrypt",  "token", "replication_token",
                                                      "key_file", "auth",  "secret"};
  return kSecrets.contains(name) || name.ends_with("_token");
}

nlohmann::json to_json(const ConfigBlock& b) {
  nlohmann::json json = nlohmann::json::object();
  const auto api_name = [](std::string_view name) {
    std::string out;
    bool up = true;
    for (char c : name) {
      if (c == '_') {
        up = true;
        continue;
      }
      out += up ? static_cast<char>(std::toupper(static_cast<unsigned char>(c))) : c;
      up = false;
    }
    return out == "HttpApiResponseHeaders" ? std::string("HTTPAPIResponseHeaders") : out;
  };
  for (const auto& [name, attribute] : b.attributes) {
    if (is_secret(name)) {
      json[api_name(name)] = "<redacted>";
      continue;
    }
    json[api_name(name)] = nlohmann::json::parse(hcl::to_json(attribute.value), nullptr, false);
  }
  for (const ConfigBlock& child : b.blocks) {
    nlohmann::json value = to_json(child);
    if (child.labels.empty()) {
      json[api_name(child.name)] = std::move(value);
    } else {
      json[api_name(child.name)][child.labels.front()] = std::move(value);
    }
  }
  return json;
}

}  // namespace

std::string agent_help() {
  std::string text =
      "Usage: drover agent [options]\n\n"
      "  Runs an agent: a server, a client, or both, until it is told to stop.\n\n"
      "  In dev mode (-dev) everything runs in one process on 127.0.0.1 and nothing is kept:\n\n"
      "      drover agent -dev\n\n"
      "Options:\n\n";
  for (const Flag& flag : kFlags) {
    text += "  -" + std::string(flag.name) + (flag.takes_value ? "=<value>" : "") + "\n      " +
            std::string(flag.help) + "\n";
  }
  return text;
}

Result<RawConfig> read_agent_arguments(std::span<const std::string> arguments) {
  RawConfig raw;
  ConfigBlock flags;
  hcl::Object meta;
  hcl::List start_join, retry_join;
  for (size_t i = 0; i < arguments.size(); ++i) {
    std::string_view word = arguments[i];
    if (!word.starts_with('-'))
      return invalid_argument("unexpected argument \"" + std::string(word) + "\"; options begin with a dash");
    word.remove_prefix(word.starts_with("--") ? 2 : 1);
    const size_t equals = word.find('=');
    const std::string_view name = word.substr(0, equals);
    auto flag = std::ranges::find(kFlags, name, &Flag::name);
    if (flag == kFlags.end()) {
      std::vector<std::string_view> names;
      for (const Flag& f : kFlags) names.push_back(f.name);
      const std::string hint = nearest_hint(name, names);
      return invalid_argument("unknown option -" + std::string(name) + (hint.empty() ? "" : "; " + hint));
    }
    std::string value = "true";
    if (equals != std::string_view::npos) {
      value = word.substr(equals + 1);
    } else if (flag->takes_value) {
      if (++i == arguments.size()) return invalid_argument("option -" + std::string(name) + " needs a value");
      value = arguments[i];
    }
    if (name == "config") {
      DROVER_TRY(std::vector<std::string> files, files_of(value));
      for (const std::string& file : files) {
        DROVER_TRY(ConfigBlock loaded, load_config_file(file));
        raw.root = merge(std::move(raw.root), loaded);
        raw.files.push_back(file);
      }
    } else if (name == "dev") {
      raw.dev = value == "true";
    } else if (name == "meta") {
      const size_t split = value.find('=');
      if (split == std::string::npos) return invalid_argument("option -meta needs key=value");
      meta[value.substr(0, split)] = value.substr(split + 1);
      set(flags, flag->path, hcl::Value(meta), name);
    } else if (name == "retry-join" || name == "join") {
      hcl::List& list = name == "join" ? start_join : retry_join;
      list.emplace_back(value);
      set(flags, flag->path, hcl::Value(list), name);
    } else if (name == "servers") {
      hcl::List servers;
      for (size_t from = 0; from <= value.size();) {
        const size_t comma = std::min(value.find(',', from), value.size());
        if (comma > from) servers.emplace_back(value.substr(from, comma - from));
        from = comma + 1;
      }
      set(flags, flag->path, hcl::Value(std::move(servers)), name);
    } else if (flag->takes_value) {
      set(flags, flag->path, hcl::Value(value), name);
    } else {
      set(flags, flag->path, hcl::Value(value == "true"), name);
    }
  }
  raw.root = merge(std::move(raw.root), flags);
  if (raw.dev) {  // wins over what a file says of the roles
    set(raw.root, "server.enabled", hcl::Value(true), "dev");
    set(raw.root, "client.enabled", hcl::Value(true), "dev");
    if (!raw.root.has("bind_addr")) set(raw.root, "bind_addr", hcl::Value("127.0.0.1"), "dev");
    if (!raw.root.has("log_level")) set(raw.root, "log_level", hcl::Value("DEBUG"), "dev");
  }
  return raw;
}

Result<ConfigBlock> check_config(const RawConfig& raw, const DeclaredBlocks& declared,
                                 std::vector<std::string>& warnings) {
  ConfigSchema schema = core_schema();
  std::map<std::string, std::vector<ConfigOption>> blocks;
  blocks["server"] = server_options();
  blocks["client"] = {option("enabled", Type::boolean, "false", "Run as a client: a node that runs allocations.")};
  for (const auto& [name, block_schema] : declared) {
    if (!name.starts_with("plugin:")) merge_options(blocks[name], block_schema.options);
  }
  for (auto& [name, options] : blocks) schema.options.push_back(block(name, options));
  for (std::string_view name : kDormantBlocks) {
    if (!blocks.contains(std::string(name))) schema.options.push_back(option(std::string(name), Type::any));
  }
  for (std::string_view name : {"limits", "telemetry"}) {  // known to the language even where their plugin is disabled
    if (!blocks.contains(std::string(name))) schema.options.push_back(option(std::string(name), Type::any));
  }
  DROVER_TRY(ConfigBlock checked, apply_schema(raw.root, schema));
  warn_dormant(raw.root, schema.options, "", warnings);
  for (const ConfigBlock* plugin : raw.root.all("plugin")) {
    // Of one that is loaded into this process; a program of its own gets them.
    if (plugin->has("args") && declared.contains("plugin:" + plugin->labels.front()))
      warnings.push_back(plugin->place.to_string() + ": option plugin.args has no effect in this version");
  }
  DROVER_RETURN_IF_ERROR(refuse_unsafe(checked));

  // The inside of each plugin's config block, by the plugin's own schema.
  for (ConfigBlock& plugin : checked.blocks) {
    if (plugin.name != "plugin" || plugin.labels.empty()) continue;
    auto own = declared.find("plugin:" + plugin.labels.front());
    if (own == declared.end()) continue;
    auto config = std::ranges::find(plugin.blocks, "config", &ConfigBlock::name);
    if (config == plugin.blocks.end()) continue;
    DROVER_TRY(*config, apply_schema(*config, own->second));
  }
  // Plugins that the operator did not mention get their defaults.
  for (const auto& [name, own] : declared) {
    if (!name.starts_with("plugin:")) continue;
    const std::string plugin = name.substr(7);
    const ConfigBlock* mentioned = checked.block("plugin", plugin);
    if (mentioned && mentioned->block("config")) continue;
    ConfigBlock empty{.name = "config"};
    DROVER_TRY(ConfigBlock defaults, apply_schema(empty, own));
    auto at = std::ranges::find_if(
        checked.blocks, [&](const ConfigBlock& b) { return b.name == "plugin" && b.labels == std::vector{plugin}; });
    if (at == checked.blocks.end()) {
      checked.blocks.push_back({.name = "plugin", .labels = {plugin}});
      at = std::prev(checked.blocks.end());
    }
    at->blocks.push_back(std::move(defaults));
  }
  return checked;
}

std::vector<std::string> plugin_folders(const ConfigBlock& raw, const std::string& program) {
  std::vector<std::string> folders = {fs::path(program).parent_path().string() + "/../lib/drover/plugins"};
  if (std::string data = raw.string("data_dir"); !data.empty()) folders.push_back(data + "/plugins");
  if (std::string more = raw.string("plugin_dir"); !more.empty()) folders.push_back(more);
  return folders;
}

Result<AgentSettings> settle(const ConfigBlock& checked, bool dev) {
  AgentSettings s;
  s.dev = dev;
  s.region = checked.string("region");
  s.datacenter = checked.string("datacenter");
  s.name = checked.string("name");
  if (s.name.empty()) {
    std::array<char, 256> host{};
    gethostname(host.data(), host.size() - 1);
    s.name = host.data();
  }
  const ConfigBlock* server = checked.block("server");
  const ConfigBlock* client = checked.block("client");
  s.server = server && server->boolean("enabled");
  s.client = client && client->boolean("enabled");
  if (!s.server && !s.client) {
    return failed_precondition(
        "neither server nor client is enabled; set server { enabled = true } or client { enabled = true }, or use "
        "-dev");
  }
  s.is_alone = dev || (server && server->integer("bootstrap_expect") == 1);
  if (server) s.raft_multiplier = static_cast<int>(server->integer("raft_multiplier"));
  s.raft_lease_reads = server && server->boolean("raft_lease_reads");
  if (server) s.raft_scrub_interval = server->duration("raft_scrub_interval");
  if (const ConfigBlock* tls = checked.block("tls"); tls && tls->boolean("rpc")) {
    s.tls = {
        .ca_file = tls->string("ca_file"), .cert_file = tls->string("cert_file"), .key_file = tls->string("key_file")};
    for (const auto& [option, file] : {std::pair("ca_file", &s.tls->ca_file), std::pair("cert_file", &s.tls->cert_file),
                                       std::pair("key_file", &s.tls->key_file)}) {
      if (file->empty()) {
        return failed_precondition(tls->place.to_string() + ": tls.rpc needs tls." + option + ": both ends of a " +
                                   "connection prove themselves by a certificate");
      }
    }
  }
  s.data_dir = checked.string("data_dir");
  if (s.data_dir.empty() && !dev)
    return failed_precondition("data_dir is not set; name a folder for the agent's state");
  if (!s.data_dir.empty() && !s.data_dir.starts_with('/'))
    return invalid_argument("data_dir \"" + s.data_dir + "\" is not absolute");

  s.bind_address = checked.string("bind_addr");
  const ConfigBlock* ports = checked.block("ports");
  const auto listen = [&](const char* name, int64_t fallback) {
    std::string host = s.bind_address;
    if (const ConfigBlock* own = checked.block("addresses"); own && own->has(name)) host = own->string(name);
    if (host.find(':') != std::string::npos && !host.starts_with('[')) host = "[" + host + "]";
    return host + ":" + std::to_string(ports ? ports->integer(name, fallback) : fallback);
  };
  s.http_address = listen("http", 4646);
  s.rpc_address = listen("rpc", 4647);
  const auto advertise = [&](const char* name, const std::string& listening) {
    const std::string port = listening.substr(listening.rfind(':'));
    if (const ConfigBlock* own = checked.block("advertise"); own && own->has(name)) {
      std::string value = own->string(name);
      return value.find(':') == std::string::npos ? value + port : value;
    }
    if (listening.starts_with("0.0.0.0") || listening.starts_with("[::]")) return "127.0.0.1" + port;
    return listening;
  };
  s.advertise_http = advertise("http", s.http_address);
  s.advertise_rpc = advertise("rpc", s.rpc_address);
  s.serf_address = listen("serf", 4648);
  s.advertise_serf = advertise("serf", s.serf_address);
  if (client && client->has("servers")) s.servers = client->string_list("servers");
  if (!s.server && s.servers.empty()) {
    return failed_precondition(
        "client.servers is empty; name the servers' RPC addresses, for example servers = [\"192.0.2.1:4647\"], or "
        "enable server in the same agent");
  }
  for (std::string& known : s.servers) {
    if (known.find(':') == std::string::npos) known += ":4647";
  }

  const std::string level = checked.string("log_level");
  for (log::Level candidate :
       {log::Level::trace, log::Level::debug, log::Level::info, log::Level::warn, log::Level::error}) {
    if (std::ranges::equal(level, log::to_string(candidate), {},
                           [](char c) { return std::toupper(static_cast<unsigned char>(c)); })) {
      s.log_level = candidate;
    }
  }
  s.log_json = checked.boolean("log_json");
  s.log_file = checked.string("log_file");
  s.leave_on_interrupt = checked.boolean("leave_on_interrupt");
  s.leave_on_terminate = checked.boolean("leave_on_terminate");
  return s;
}

std::string config_to_json(const ConfigBlock& checked) {
  return to_json(checked).dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
}

}  // namespace drover
