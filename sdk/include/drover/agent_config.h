// The agent's configuration: files in order, then flags, one schema over all of it.
//
// The kernel owns the top level and the blocks that no plugin claims; plugins declare the options of theirs
// (Declarations::configuration). An option of the language that has no effect in this version is accepted with a
// warning, and refused where ignoring it would be unsafe. [main]
#pragma once

#include <map>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "drover/config.h"
#include "drover/log.h"
#include "drover/result.h"

namespace drover {

struct InterfaceAddress;  // drover/machine_addresses.h

// The configuration as it was written, before any schema: what names the plugins to load.
struct RawConfig {
  ConfigBlock root;
  bool dev = false;
  std::vector<std::string> files;
};

// `-config` (file or folder, repeatable) and the other agent flags, with one dash or two, `-flag=value` or `-flag
// value`. Each `plugin` block has its label, however a file wrote it. Errors: invalid_argument, for an unknown flag
// with the nearest one, for a file's mistake with its place.
Result<RawConfig> read_agent_arguments(std::span<const std::string> arguments);
std::string agent_help();

// Options of one block as its owner declared them. "plugin:NAME" is the config block of one plugin, "plugin_kind:KIND"
// that of every plugin whose block says this `kind`: a part of the agent runs them.
using DeclaredBlocks = std::map<std::string, ConfigSchema, std::less<>>;

// Every option of the configuration: the kernel's, and those that plugins declared.
ConfigSchema agent_schema(const DeclaredBlocks& declared);

// Checks everything and fills in defaults. `warnings` gets a line for each option without effect.
// Errors: invalid_argument with every problem: file, line, option, nearest valid name.
Result<ConfigBlock> check_config(const RawConfig& raw, const DeclaredBlocks& declared,
                                 std::vector<std::string>& warnings);

// Where plugins are looked for: beside the program, under the data folder, and where the operator says.
std::vector<std::string> plugin_folders(const ConfigBlock& raw, const std::string& program);

// The settings that the kernel itself needs, from the checked configuration.
struct AgentSettings {
  std::string name, region, datacenter;
  std::string data_dir;  // absolute; in dev mode a new folder that is removed at the end
  bool dev = false;
  bool server = false, client = false;
  bool is_alone = false;  // a new server begins a cluster of its own
  int raft_multiplier = 1;
  bool raft_lease_reads = false;
  std::chrono::nanoseconds raft_scrub_interval = std::chrono::hours(24);
  struct TlsFiles {
    std::string ca_file, cert_file, key_file;
  };
  std::optional<TlsFiles> tls;  // between agents
  std::string bind_address;
  std::string http_address, rpc_address;  // to listen on, "host:port"
  std::string serf_address;
  std::string advertise_http, advertise_rpc, advertise_serf;
  std::vector<std::string> servers;  // a client's servers, RPC addresses
  log::Level log_level = log::Level::info;
  bool log_json = false;
  std::string log_file;
  bool leave_on_interrupt = false, leave_on_terminate = false;
};
// Errors: invalid_argument / failed_precondition: neither server nor client, a data_dir that is missing or not
// absolute.
Result<AgentSettings> agent_settings(const ConfigBlock& checked, bool dev,
                                     const std::vector<InterfaceAddress>& machine);
// The RPC addresses of servers that a block `client` names in `servers` and `server_join`, with ports. Errors:
// invalid_argument for what is no address.
Result<std::vector<std::string>> configured_servers(const ConfigBlock& client);
// The first lines that an agent prints: where it listens, and which files it has read.
std::string agent_banner(const AgentSettings& settings, const std::vector<std::string>& config_files,
                         std::string_view version);

// Every option as JSON in the API's names, secrets blanked; options that are not set have their type's empty value.
std::string config_to_json(const RawConfig& raw, const DeclaredBlocks& declared, const ConfigBlock& checked);

}  // namespace drover
