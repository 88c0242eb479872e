#include "config.h"

#include <algorithm>

namespace drover::networks {
namespace {

constexpr const char* kSubnet = "172.26.64.0/20";
// Where other agents look, and where Debian's package puts them.
constexpr const char* kCniPath = "/opt/cni/bin:/usr/lib/cni";
constexpr const char* kCniConfig = "/opt/cni/config";
constexpr size_t kLongestName = 15;  // of an interface

std::vector<std::string> folders_in(std::string_view path) {
  std::vector<std::string> folders;
  while (!path.empty()) {
    const size_t end = std::min(path.find(':'), path.size());
    if (end > 0) folders.emplace_back(path.substr(0, end));
    path.remove_prefix(std::min(end + 1, path.size()));
  }
  return folders;
}

bool is_interface_name(std::string_view name) {
  return !name.empty() && name.size() <= kLongestName && std::ranges::all_of(name, [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-' || c == '_';
  });
}

Result<Subnet> read_subnet(const std::string& option, const std::string& text, bool is_v6) {
  auto subnet = parse_subnet(text);
  if (!subnet || subnet->is_v6() != is_v6 || hosts_in(*subnet) < 2) {
    return invalid_argument("client." + option + ": \"" + text + "\" is no " + (is_v6 ? "IPv6" : "IPv4") +
                            " range with room for allocations, such as " + (is_v6 ? "fd00:a110:c8::/112" : kSubnet));
  }
  return subnet;
}

}  // namespace

std::vector<ConfigOption> client_options() {
  using Type = ConfigType;
  return {
      {.name = "cni_path",
       .type = Type::string,
       .default_text = kCniPath,
       .help = "Folders of CNI plugins, separated by colons.",
       .api_name = "CNIPath"},
      {.name = "cni_config_dir",
       .type = Type::string,
       .default_text = kCniConfig,
       .help = "Folder of CNI network configurations (*.conf, *.conflist, *.json): network mode cni/NAME.",
       .api_name = "CNIConfigDir"},
      {.name = "bridge_network_name",
       .type = Type::string,
       .default_text = "nomad",
       .help = "Bridge of network mode bridge. Each agent of a machine needs a bridge and subnets of its own."},
      {.name = "bridge_network_subnet",
       .type = Type::string,
       .default_text = kSubnet,
       .help = "IPv4 addresses of allocations on the bridge."},
      {.name = "bridge_network_subnet_ipv6",
       .type = Type::string,
       .help = "IPv6 addresses of allocations on the bridge. Unless said: none.",
       .api_name = "BridgeNetworkSubnetIPv6"},
      {.name = "bridge_network_hairpin_mode",
       .type = Type::boolean,
       .default_text = "false",
       .help = "An allocation on the bridge reaches itself by the address and port of the machine."},
      {.name = "bind_wildcard_default_host_network",
       .type = Type::boolean,
       .default_text = "true",
       .help = "Where no host_network is configured, mapped ports are open on all addresses of the machine."}};
}

Result<Config> read_config(const ConfigBlock* client) {
  const ConfigBlock none;
  const ConfigBlock& block = client ? *client : none;
  Config config{.cni_folders = folders_in(block.string("cni_path", kCniPath)),
                .cni_config_folder = block.string("cni_config_dir", kCniConfig),
                .bridge = block.string("bridge_network_name", "nomad"),
                .subnet = {},
                .subnet6 = {},
                .is_hairpin = block.boolean("bridge_network_hairpin_mode"),
                .binds_everywhere = block.boolean("bind_wildcard_default_host_network", true)};
  if (!is_interface_name(config.bridge))
    return invalid_argument("client.bridge_network_name: \"" + config.bridge +
                            "\" is no name of an interface: at most 15 letters, digits, - and _");
  DROVER_TRY(config.subnet, read_subnet("bridge_network_subnet", block.string("bridge_network_subnet", kSubnet), false));
  if (const std::string text = block.string("bridge_network_subnet_ipv6"); !text.empty()) {
    DROVER_TRY(config.subnet6, read_subnet("bridge_network_subnet_ipv6", text, true));
  }
  if (!block.all("host_network").empty()) config.binds_everywhere = false;
  return config;
}

}  // namespace drover::networks
