#include "joining/found_servers.h"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "client/json_fields.h"

namespace drover::consul {
namespace {

using Json = nlohmann::json;

}  // namespace

Result<std::vector<std::string>> addresses_in(const std::string& body) {
  const Json rows = Json::parse(body, nullptr, false);
  if (!rows.is_array()) return unavailable("Consul's answer is of another form");
  std::vector<std::string> out;
  for (const Json& row : rows) {
    if (!row.is_object()) continue;
    const std::string own = text_in(row, "ServiceAddress"), host = own.empty() ? text_in(row, "Address") : own;
    const auto port = row.find("ServicePort");
    if (host.empty() || port == row.end() || !port->is_number_integer() || *port <= 0 || *port > 65535) continue;
    const std::string shown = host.find(':') == std::string::npos ? host : "[" + host + "]";
    std::string address = shown + ":" + std::to_string(port->get<int>());
    if (std::ranges::find(out, address) == out.end()) out.push_back(std::move(address));
  }
  return out;
}

Result<std::vector<std::string>> find_servers(const ConsulClient& client, const std::string& service,
                                              std::string_view tag, std::stop_token stop) {
  DROVER_TRY(const std::string body, client.call("GET", "/v1/catalog/datacenters", "", "", stop));
  const Json datacenters = Json::parse(body, nullptr, false);
  if (!datacenters.is_array()) return unavailable("Consul's answer is of another form");
  Status trouble = not_found("Consul knows no service \"" + service + "\" with the tag \"" + std::string(tag) + "\"");
  size_t asked = 0;
  for (const Json& datacenter : datacenters) {
    if (!datacenter.is_string() || asked++ == kMostDatacenters) break;
    const std::string path = "/v1/catalog/service/" + http_client::encoded(service) +
                             "?tag=" + http_client::encoded(tag) +
                             "&dc=" + http_client::encoded(datacenter.get_ref<const std::string&>()) +
                             "&near=_agent&stale=";
    auto answer = client.call("GET", path, "", "", stop);
    if (!answer) {
      trouble = answer.status();
      continue;
    }
    DROVER_TRY(std::vector<std::string> found, addresses_in(*answer));
    if (!found.empty()) return found;
  }
  return trouble;
}

}  // namespace drover::consul
