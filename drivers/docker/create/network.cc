#include <nlohmann/json.hpp>

#include "create/parts.h"
#include "nomad/plugins/driver.pb.h"

namespace drover::docker {
namespace {

using Json = nlohmann::json;

struct Dns {
  std::vector<std::string> servers, searches, options;
  bool is_empty() const { return servers.empty() && searches.empty() && options.empty(); }
};

Dns dns_of(const BodyInput& input) {
  Dns dns{.servers = input.options.dns_servers,
          .searches = input.options.dns_search_domains,
          .options = input.options.dns_options};
  const driver::DNSConfig& group = input.task.dns();
  if (dns.servers.empty()) dns.servers.assign(group.servers().begin(), group.servers().end());
  if (dns.searches.empty()) dns.searches.assign(group.searches().begin(), group.searches().end());
  if (dns.options.empty()) dns.options.assign(group.options().begin(), group.options().end());
  return dns;
}

std::string joined(const std::vector<std::string>& words) {
  std::string out;
  for (const std::string& word : words) out += " " + word;
  return out;
}

std::string resolv_conf(const Dns& dns) {
  std::string out;
  if (!dns.searches.empty()) out += "search" + joined(dns.searches) + "\n";
  for (const std::string& server : dns.servers) out += "nameserver " + server + "\n";
  if (!dns.options.empty()) out += "options" + joined(dns.options) + "\n";
  return out;
}

// "name:address", also with an IPv6 address, as a line of a hosts file.
Result<std::string> host_line(const std::string& text) {
  const size_t colon = text.find(':');
  if (colon == 0 || colon == std::string::npos || colon + 1 == text.size())
    return invalid_argument("cannot parse extra_hosts \"" + text + "\": it must be name:address");
  return text.substr(colon + 1) + "\t" + text.substr(0, colon) + "\n";
}

Result<std::string> hosts_file(const BodyInput& input) {
  std::string out =
      "127.0.0.1\tlocalhost\n::1\tlocalhost ip6-localhost ip6-loopback\nfe00::0\tip6-localnet\n"
      "ff00::0\tip6-mcastprefix\nff02::1\tip6-allnodes\nff02::2\tip6-allrouters\n";
  const driver::HostsConfig& own = input.task.network_isolation_spec().hostsconfig();
  if (!own.address().empty() && !own.hostname().empty()) out += own.address() + "\t" + own.hostname() + "\n";
  for (const std::string& text : input.options.extra_hosts) {
    DROVER_TRY(const std::string line, host_line(text));
    out += line;
  }
  return out;
}

// In a network of another container the engine takes no names: they come as files.
Status add_name_files(const BodyInput& input, const Dns& dns, ContainerBody& out) {
  if (!dns.is_empty())
    out.files.push_back({task_folder(input.task) + "/resolv.conf", resolv_conf(dns), "/etc/resolv.conf"});
  if (input.options.extra_hosts.empty() && !input.task.network_isolation_spec().has_hostsconfig()) return ok_status();
  DROVER_TRY(std::string hosts, hosts_file(input));
  out.files.push_back({task_folder(input.task) + "/hosts", std::move(hosts), "/etc/hosts"});
  return ok_status();
}

Status add_names(const BodyInput& input, const Dns& dns, Json& host) {
  if (!dns.servers.empty()) host["Dns"] = dns.servers;
  if (!dns.searches.empty()) host["DnsSearch"] = dns.searches;
  if (!dns.options.empty()) host["DnsOptions"] = dns.options;
  for (const std::string& text : input.options.extra_hosts) DROVER_RETURN_IF_ERROR(host_line(text).status());
  if (!input.options.extra_hosts.empty()) host["ExtraHosts"] = input.options.extra_hosts;
  return ok_status();
}

void add_endpoint(const BodyInput& input, const std::string& mode, Json& body) {
  const ContainerOptions& options = input.options;
  Json endpoint = Json::object();
  if (!options.network_aliases.empty()) endpoint["Aliases"] = options.network_aliases;
  Json addresses = Json::object();
  if (!options.ipv4_address.empty()) addresses["IPv4Address"] = options.ipv4_address;
  if (!options.ipv6_address.empty()) addresses["IPv6Address"] = options.ipv6_address;
  if (!addresses.empty()) endpoint["IPAMConfig"] = std::move(addresses);
  if (!endpoint.empty()) body["NetworkingConfig"] = {{"EndpointsConfig", {{mode, std::move(endpoint)}}}};
}

bool has_group_network(const driver::TaskConfig& task) {
  return task.has_network_isolation_spec() &&
         task.network_isolation_spec().mode() == driver::NetworkIsolationSpec::GROUP;
}

// A container that joins another one's network has its host name with Docker, which takes none of its own there. With
// Podman each has its own.
void add_group_hostname(const BodyInput& input, Json& body) {
  if (!input.engine.is_podman || body.contains("Hostname") || !input.options.network_mode.empty()) return;
  if (!has_group_network(input.task)) return;
  const auto& labels = input.task.network_isolation_spec().labels();
  if (const auto name = labels.find(kSandboxHostname); name != labels.end()) body["Hostname"] = name->second;
}

}  // namespace

std::string network_mode(const BodyInput& input) {
  if (!input.options.network_mode.empty()) return input.options.network_mode;
  if (!has_group_network(input.task)) return "default";
  const driver::NetworkIsolationSpec& group = input.task.network_isolation_spec();
  const auto holder = group.labels().find(kSandboxId);
  return holder == group.labels().end() ? "ns:" + group.path() : "container:" + holder->second;
}

bool shares_network(const BodyInput& input) {
  const std::string mode = network_mode(input);
  return mode.starts_with("container:") || mode.starts_with("ns:");
}

Status add_network(const BodyInput& input, Json& body, ContainerBody& out) {
  const std::string mode = network_mode(input);
  Json& host = body["HostConfig"];
  if (mode.starts_with("ns:") && !input.engine.is_podman) {
    if (input.options.network_mode.empty())
      return invalid_argument(
          "Docker joins the network of a container only, and the group's network was made by something else");
    return invalid_argument("network_mode \"" + mode + "\" is none that this engine has");
  }
  host["NetworkMode"] = mode;
  add_endpoint(input, mode, body);
  add_group_hostname(input, body);
  const Dns dns = dns_of(input);
  if (shares_network(input)) return add_name_files(input, dns, out);
  return add_names(input, dns, host);
}

}  // namespace drover::docker
