#include "drover/agent_config.h"
#include "drover/machine_addresses.h"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <filesystem>
#include <iterator>

#include "../config/config_value.h"
#include "drover/nearest.h"
#include "plugin_options.h"

namespace drover {
namespace {

namespace fs = std::filesystem;
using Type = ConfigType;

// --- flags ---------------------------------------------------------------------------------------------------------

struct Flag {
  std::string_view name;
  std::string_view path;  // option that it sets; "" when it is handled apart
  bool takes_value;
  std::string_view help;  // empty: it is that of the option
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
    Flag{"node-pool", "client.node_pool", true, "Pool of this node."},
    Flag{"node-class", "client.node_class", true, "Class of this node, for constraints."},
    Flag{"client-intro-token", "client.intro_token", true, "Token that introduces this node to the servers."},
    Flag{"meta", "client.meta", true, "Node metadata, key=value. Repeatable."},
    Flag{"state-dir", "client.state_dir", true, "Folder of the client's state."},
    Flag{"alloc-dir", "client.alloc_dir", true, "Folder of the allocations' files."},
    Flag{"network-interface", "client.network_interface", true, "Interface whose address allocations use."},
    Flag{"consul-address", "consul.address", true, ""},
    Flag{"consul-auth", "consul.auth", true, ""},
    Flag{"consul-auto-advertise", "consul.auto_advertise", false, ""},
    Flag{"consul-ca-file", "consul.ca_file", true, ""},
    Flag{"consul-cert-file", "consul.cert_file", true, ""},
    Flag{"consul-checks-use-advertise", "consul.checks_use_advertise", false, ""},
    Flag{"consul-client-auto-join", "consul.client_auto_join", false, ""},
    Flag{"consul-client-service-name", "consul.client_service_name", true, ""},
    Flag{"consul-client-http-check-name", "consul.client_http_check_name", true, ""},
    Flag{"consul-key-file", "consul.key_file", true, ""},
    Flag{"consul-server-auto-join", "consul.server_auto_join", false, ""},
    Flag{"consul-server-service-name", "consul.server_service_name", true, ""},
    Flag{"consul-server-http-check-name", "consul.server_http_check_name", true, ""},
    Flag{"consul-server-serf-check-name", "consul.server_serf_check_name", true, ""},
    Flag{"consul-server-rpc-check-name", "consul.server_rpc_check_name", true, ""},
    Flag{"consul-ssl", "consul.ssl", false, ""},
    Flag{"consul-token", "consul.token", true, ""},
    Flag{"consul-verify-ssl", "consul.verify_ssl", false, ""},
    Flag{"consul-allow-unauthenticated", "consul.allow_unauthenticated", false, ""},
    Flag{"vault-enabled", "vault.enabled", false, ""},
    Flag{"vault-address", "vault.address", true, ""},
    Flag{"vault-token", "vault.token", true, ""},
    Flag{"vault-namespace", "vault.namespace", true, ""},
    Flag{"vault-create-from-role", "vault.create_from_role", true, ""},
    Flag{"vault-allow-unauthenticated", "vault.allow_unauthenticated", false, ""},
    Flag{"vault-ca-file", "vault.ca_file", true, ""},
    Flag{"vault-ca-path", "vault.ca_path", true, ""},
    Flag{"vault-cert-file", "vault.cert_file", true, ""},
    Flag{"vault-key-file", "vault.key_file", true, ""},
    Flag{"vault-tls-skip-verify", "vault.tls_skip_verify", false, ""},
    Flag{"vault-tls-server-name", "vault.tls_server_name", true, ""},
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

// Options without help are the ones nobody reads.
void warn_dormant(const ConfigBlock& raw, const std::vector<ConfigOption>& options, const std::string& path,
                  std::vector<std::string>& warnings) {
  for (const ConfigOption& o : options) {
    const std::string name = path.empty() ? o.name : path + "." + o.name;
    const ConfigBlock* child = raw.block(o.name);
    auto attribute = raw.attributes.find(o.name);
    const bool is_set = child || attribute != raw.attributes.end();
    if (!is_set || path == "acl" || o.name == "plugin") continue;
    if (o.type == Type::block) {
      if (child) warn_dormant(*child, o.options, name, warnings);
      continue;
    }
    if (!o.help.empty() || path == "addresses" || path == "advertise") continue;
    const ConfigPlace& place = child ? child->place : attribute->second.place;
    warnings.push_back(place.to_string() + ": option " + name + " has no effect in this version");
  }
}

// The inside of a plugin's config block, by the plugin's own schema.
Status check_own_options(ConfigBlock& plugin, const DeclaredBlocks& declared) {
  ConfigBlock own{.place = plugin.place};
  if (auto attribute = plugin.attributes.extract("config")) own.attributes.insert(std::move(attribute));
  const auto stays = [](const ConfigBlock& block) { return block.name != "config"; };
  const auto inner = std::stable_partition(plugin.blocks.begin(), plugin.blocks.end(), stays);
  std::move(inner, plugin.blocks.end(), std::back_inserter(own.blocks));
  plugin.blocks.erase(inner, plugin.blocks.end());
  const auto schema = declared.find("plugin:" + plugin.labels.front());
  if (schema == declared.end()) {  // a program of its own checks it
    if (!own.attributes.empty())
      return invalid_argument(own.attributes.begin()->second.place.to_string() + ": plugin \"" + plugin.labels.front() +
                              "\": config must be a block");
    std::ranges::move(own.blocks, std::back_inserter(plugin.blocks));
    return ok_status();
  }
  DROVER_TRY(own, apply_schema(
                      own, {.options = {{.name = "config", .type = Type::block, .options = schema->second.options}}}));
  std::ranges::move(own.blocks, std::back_inserter(plugin.blocks));
  return ok_status();
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
            (flag.help.empty() ? "Sets " + std::string(flag.path) + "." : std::string(flag.help)) + "\n";
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
        DROVER_TRY(loaded, label_blocks(std::move(loaded), "plugin"));
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
  const ConfigSchema schema = agent_schema(declared);
  DROVER_TRY(ConfigBlock checked, apply_schema(raw.root, schema));
  warn_dormant(raw.root, schema.options, "", warnings);
  for (const ConfigBlock* plugin : raw.root.all("plugin")) {
    // A plugin of the exact tier is loaded into this process; these options are for programs of their own.
    if (!declared.contains("plugin:" + plugin->labels.front())) continue;
    for (const char* name : {"args", "user", "no_new_privileges", "oom_score", "grants", "limits"}) {
      if (plugin->has(name) || plugin->block(name))
        warnings.push_back(plugin->place.to_string() + ": option plugin." + name +
                           " has no effect on a part of the agent");
    }
  }

  // Plugins that the operator did not mention get their defaults, too.
  for (const auto& [name, own] : declared) {
    if (!name.starts_with("plugin:")) continue;
    const std::vector labels = {name.substr(std::string_view("plugin:").size())};
    if (!checked.block("plugin", labels.front())) checked.blocks.push_back({.name = "plugin", .labels = labels});
  }
  const ConfigBlock* const client = checked.block("client");
  const ConfigBlock roles{.blocks = client ? std::vector{*client} : std::vector<ConfigBlock>()};
  for (ConfigBlock& plugin : checked.blocks) {
    if (plugin.name != "plugin") continue;
    if (const ConfigBlock* written = plugin.has("kind") ? raw.root.block("plugin", plugin.labels.front()) : nullptr) {
      DROVER_RETURN_IF_ERROR(check_plugin_kind(*written, plugin, roles, declared, warnings));
    } else {
      DROVER_RETURN_IF_ERROR(check_own_options(plugin, declared));
    }
  }
  return checked;
}

std::vector<std::string> plugin_folders(const ConfigBlock& raw, const std::string& program) {
  std::vector<std::string> folders = {fs::path(program).parent_path().string() + "/../lib/drover/plugins"};
  if (std::string data = raw.string("data_dir"); !data.empty()) folders.push_back(data + "/plugins");
  if (std::string more = raw.string("plugin_dir"); !more.empty()) folders.push_back(more);
  return folders;
}

namespace {

// An address with its templates carried out.
Result<std::string> resolved(const ConfigBlock& block, const std::string& option,
                             const std::vector<InterfaceAddress>& machine) {
  return resolve_address(block.string(option), machine).with_context(option);
}

// "host:port"; an IPv6 address stands in brackets.
std::string with_port(const std::string& address, const std::string& port) {
  const auto colons = std::ranges::count(address, ':');
  if (colons > 1 && !address.starts_with('[')) return "[" + address + "]" + port;
  const bool has_port = colons == 1 || address.find("]:") != std::string::npos;
  return has_port ? address : address + port;
}

// The address by which others reach an agent that listens everywhere; 127.0.0.1 on a machine without a network.
std::string own_address(const std::vector<InterfaceAddress>& machine) {
  const std::string found = private_address(machine);
  if (!found.empty()) return found;
  const auto at = std::ranges::find_if(machine, [](const InterfaceAddress& one) {
    return one.is_up && !one.is_loopback && one.address.find(':') == std::string::npos;
  });
  return at == machine.end() ? "127.0.0.1" : at->address;
}

}  // namespace

Result<std::vector<std::string>> configured_servers(const ConfigBlock& client) {
  std::vector<std::string> servers = client.string_list("servers");
  const ConfigBlock* join = client.block("server_join");
  for (const char* option : {"start_join", "retry_join"}) {
    if (!join) break;
    for (std::string& server : join->string_list(option)) {
      if (server.find('=') != std::string::npos)
        return invalid_argument("client.server_join." + std::string(option) +
                                ": machines of a cloud are not looked for (" + server +
                                "); name addresses, or a DNS name that stands for the servers");
      servers.push_back(std::move(server));
    }
  }
  for (std::string& server : servers) server = with_port(server, ":4647");
  return servers;
}

Result<AgentSettings> agent_settings(const ConfigBlock& checked, bool dev,
                                     const std::vector<InterfaceAddress>& machine) {
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

  DROVER_TRY(s.bind_address, resolved(checked, "bind_addr", machine));
  const ConfigBlock* ports = checked.block("ports");
  const auto listen = [&](const char* name, int64_t fallback) -> Result<std::string> {
    std::string host = s.bind_address;
    if (const ConfigBlock* own = checked.block("addresses"); own && own->has(name)) {
      DROVER_TRY(host, resolved(*own, name, machine));
    }
    if (host.find(':') != std::string::npos && !host.starts_with('[')) host = "[" + host + "]";
    return host + ":" + std::to_string(ports ? ports->integer(name, fallback) : fallback);
  };
  DROVER_TRY(s.http_address, listen("http", 4646));
  DROVER_TRY(s.rpc_address, listen("rpc", 4647));
  const auto advertise = [&](const char* name, const std::string& listening) -> Result<std::string> {
    const std::string port = listening.substr(listening.rfind(':'));
    if (const ConfigBlock* own = checked.block("advertise"); own && own->has(name)) {
      DROVER_TRY(const std::string value, resolved(*own, name, machine));
      return with_port(value, port);
    }
    if (listening.starts_with("0.0.0.0") || listening.starts_with("[::]"))
      return (dev ? "127.0.0.1" : own_address(machine)) + port;
    return listening;
  };
  DROVER_TRY(s.advertise_http, advertise("http", s.http_address));
  DROVER_TRY(s.advertise_rpc, advertise("rpc", s.rpc_address));
  DROVER_TRY(s.serf_address, listen("serf", 4648));
  DROVER_TRY(s.advertise_serf, advertise("serf", s.serf_address));
  if (client) {
    DROVER_TRY(s.servers, configured_servers(*client));
  }
  // A plugin may find servers elsewhere: its block says so.
  const bool finds_servers = std::ranges::any_of(checked.blocks, [](const ConfigBlock& block) {
    return !block.place.file.empty() && block.boolean("client_auto_join");
  });
  if (!s.server && s.servers.empty() && !finds_servers) {
    return failed_precondition(
        "client.servers is empty, and so is server_join; name the servers' RPC addresses, for example servers = "
        "[\"192.0.2.1:4647\"], or enable server in the same agent");
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

}  // namespace drover
