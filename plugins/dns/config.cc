#include "config.h"

#include <algorithm>
#include <filesystem>

#include "drover/config.h"

namespace drover::dns {
namespace {

// Without port and brackets.
std::string host_of(const std::string& address) {
  std::string host = address.substr(0, address.rfind(':'));
  if (host.starts_with('[') && host.ends_with(']')) host = host.substr(1, host.size() - 2);
  return host;
}

bool is_loopback(const Address& address) {
  return address.is_v6() ? to_string(address) == "::1" : address.bytes.front() == 127;
}

bool is_loopback_net(const Subnet& subnet) {
  const std::string first(reinterpret_cast<const char*>(subnet.first.data()), subnet.size);
  return is_loopback(Address{first}) && subnet.bits >= (subnet.is_v6() ? 128 : 8);
}

Status refuse(const char* option, const std::string& why) { return invalid_argument(std::string(option) + ": " + why); }

uint32_t seconds(const ConfigBlock& block, const char* option) {
  return static_cast<uint32_t>(std::chrono::duration_cast<std::chrono::seconds>(block.duration(option)).count());
}

}  // namespace

ConfigSchema config_schema() {
  return {.options = {
              {.name = "enabled",
               .type = ConfigType::boolean,
               .default_text = "false",
               .help = "Answer questions of the DNS about services."},
              {.name = "addresses",
               .type = ConfigType::string_list,
               .default_text = "127.0.0.1:8653",
               .help = "Where to listen, by UDP and TCP: IP:port, each address by itself."},
              {.name = "clients",
               .type = ConfigType::string_list,
               .default_text = "127.0.0.0/8, ::1/128",
               .help = "The networks of those who may ask; others hear nothing."},
              {.name = "domain", .default_text = "drover", .help = "The domain that all names end in."},
              {.name = "ttl",
               .type = ConfigType::duration,
               .default_text = "5s",
               .help = "For how long others may keep an answer; whole seconds, 0: not at all.",
               .min = 0,
               .max = 86400},
              {.name = "negative_ttl",
               .type = ConfigType::duration,
               .default_text = "2s",
               .help = "The same of an answer that says that there is nothing.",
               .min = 0,
               .max = 86400},
              {.name = "max_answers",
               .type = ConfigType::integer,
               .default_text = "32",
               .help = "Records in an answer; of more instances some are chosen, others each time.",
               .min = 1,
               .max = 1000},
              {.name = "max_stale",
               .type = ConfigType::duration,
               .default_text = "1h",
               .help = "For how long what was known is answered while the servers cannot be reached.",
               .min = 0},
              {.name = "token_file",
               .help = "A file with the token by whose rights services are read. Without: the node's own, which sees "
                       "all; on an agent that is no node, those of the anonymous policy."},
          }};
}

Result<Config> read_config(const ConfigBlock& block) {
  Config config;
  config.addresses = block.string_list("addresses");
  if (config.addresses.empty()) return refuse("addresses", "there is none");
  for (const std::string& text : block.string_list("clients")) {
    auto subnet = parse_subnet(text);
    if (!subnet) return subnet.status().with_context("clients");
    config.clients.push_back(*subnet);
  }
  for (const std::string& address : config.addresses) {
    const std::string host = host_of(address);
    const auto ip = parse_address(host);
    if (!ip) return refuse("addresses", "\"" + address + "\" is not of the form IP:port");
    if (!is_loopback(*ip) && std::ranges::all_of(config.clients, is_loopback_net))
      return refuse("clients", "only this machine may ask at " + address + "; name the networks that may");
    config.zone.servers.push_back(*ip);
  }
  auto origin = parse_name(block.string("domain"));
  if (!origin) return origin.status().with_context("domain");
  config.zone.origin = *std::move(origin);
  config.zone.ttl = seconds(block, "ttl");
  config.zone.negative_ttl = seconds(block, "negative_ttl");
  config.zone.max_answers = static_cast<size_t>(block.integer("max_answers"));
  config.max_stale = block.duration("max_stale");
  config.token_file = block.string("token_file");
  if (!config.token_file.empty() && !std::filesystem::path(config.token_file).is_absolute())
    return refuse("token_file", "must be an absolute path");
  return config;
}

}  // namespace drover::dns
