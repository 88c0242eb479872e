#include "native/rules.h"

namespace drover::networks {
namespace {

// "tcp . 8080 : 172.26.64.2 . 80" for each protocol, by commas; `with_host`: with the host's address in the key.
std::string elements(const std::vector<StoredLease>& leases, const Subnet& subnet, bool with_host) {
  std::string text;
  for (const StoredLease& lease : leases) {
    const std::string address = host_address(subnet, lease.number());
    for (const StoredPort& port : lease.ports()) {
      const bool is_v6 = port.host_ip().find(':') != std::string::npos;
      if (port.host_ip().empty() == with_host || (with_host && is_v6 != subnet.is_v6())) continue;
      for (const char* protocol : {"tcp", "udp"}) {
        text += (text.empty() ? "" : ", ") + std::string(protocol) + " . ";
        if (with_host) text += port.host_ip() + " . ";
        text += std::to_string(port.host()) + " : " + address + " . " + std::to_string(port.inside());
      }
    }
  }
  return text;
}

std::string map(const std::string& name, const std::string& type, const std::string& elements) {
  return "  map " + name + " {\n    type " + type + "\n" +
         (elements.empty() ? "" : "    elements = { " + elements + " }\n") + "  }\n";
}

std::string quoted(const std::string& name) { return "\"" + name + "\""; }

struct Family {
  std::string name, number, address, everybody;  // "ip", "4", "ipv4_addr", its addresses of many machines
};

std::string maps(const std::vector<StoredLease>& leases, const Subnet& subnet, const Family& family) {
  const std::string to = family.address + " . inet_service";
  return map("some" + family.number, "inet_proto . " + family.address + " . inet_service : " + to,
             elements(leases, subnet, true)) +
         map("any" + family.number, "inet_proto . inet_service : " + to, elements(leases, subnet, false));
}

std::string mapping_rules(const Family& family) {
  const std::string only = "    meta nfproto ipv" + family.number + " dnat " + family.name + " to meta l4proto . ";
  return only + family.name + " daddr . th dport map @some" + family.number + "\n" + only + "th dport map @any" +
         family.number + "\n";
}

std::string masquerade_rules(const Config& config, const Subnet& subnet, const Family& family) {
  const std::string from = "    " + family.name + " saddr ", to = " " + family.name + " daddr ";
  const std::string range = to_string(subnet), bridge = quoted(config.bridge);
  std::string rules = from + range + to + "!= " + range + to + "!= " + family.everybody + " masquerade\n";
  // A connection from this machine to itself, or of an allocation to itself, comes back the way it went.
  if (!subnet.is_v6()) rules += from + "127.0.0.0/8 oifname " + bridge + " masquerade\n";
  return rules + from + range + to + range + " ct status dnat masquerade\n";
}

}  // namespace

std::string table_name(const Config& config) {
  std::string name = "drover_" + config.bridge;
  for (char& c : name) {
    if (c == '-') c = '_';
  }
  return name;
}

std::string rules_script(const Config& config, const std::vector<StoredLease>& leases) {
  const Family v4{"ip", "4", "ipv4_addr", "224.0.0.0/4"}, v6{"ip6", "6", "ipv6_addr", "ff00::/8"};
  const std::string table = "table inet " + table_name(config);
  const std::string here = " fib daddr type local jump ports\n  }\n";
  std::string out = table + " { }\ndelete " + table + "\n" + table + " {\n" + maps(leases, config.subnet, v4);
  if (config.subnet6) out += maps(leases, *config.subnet6, v6);
  out += "  chain ports {\n" + mapping_rules(v4) + (config.subnet6 ? mapping_rules(v6) : "") + "  }\n";
  out += "  chain arriving {\n    type nat hook prerouting priority dstnat; policy accept;" + here;
  out += "  chain leaving {\n    type nat hook output priority -100; policy accept;" + here;
  out += "  chain masquerading {\n    type nat hook postrouting priority srcnat; policy accept;\n" +
         masquerade_rules(config, config.subnet, v4) +
         (config.subnet6 ? masquerade_rules(config, *config.subnet6, v6) : "") + "  }\n}\n";
  return out;
}

std::string admission_script(const Config& config, const std::string& family) {
  const std::string chain = "insert rule " + family + " filter FORWARD ", bridge = quoted(config.bridge);
  return chain + "oifname " + bridge + " counter accept\n" + chain + "iifname " + bridge + " counter accept\n";
}

bool is_admitted(const Config& config, std::string_view printed) {
  for (const char* side : {"oifname ", "iifname "}) {
    const size_t at = printed.find(side + quoted(config.bridge) + " counter");
    const size_t end = printed.find('\n', at);
    if (at == std::string_view::npos || printed.substr(at, end - at).find(" accept") == std::string_view::npos)
      return false;
  }
  return true;
}

}  // namespace drover::networks
