#include "servers/known_servers.h"

#include <algorithm>
#include <charconv>

#include "drover/api/client.pb.h"

namespace drover::agent {
namespace {

constexpr const char* kUsualPort = "4647";
constexpr int kLastPort = 65'535;

bool is_port(std::string_view text) {
  int port = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), port);
  return error == std::errc() && end == text.data() + text.size() && port > 0 && port <= kLastPort;
}

// A name or an address, without brackets.
bool is_host(std::string_view text) {
  return !text.empty() && text.find_first_of("[]/ \t\r\n,") == std::string_view::npos;
}

}  // namespace

Result<std::string> server_address(std::string_view typed) {
  std::string_view host = typed, port = kUsualPort;
  const size_t colon = typed.rfind(':');
  const bool has_brackets = typed.starts_with('[');
  const bool is_bare_v6 = !has_brackets && std::ranges::count(typed, ':') > 1;
  const bool has_port =
      !is_bare_v6 && colon != std::string_view::npos && (!has_brackets || typed.find(']') + 1 == colon);
  if (has_port) {
    host = typed.substr(0, colon);
    port = typed.substr(colon + 1);
  }
  if (has_brackets && host.ends_with(']')) host = host.substr(1, host.size() - 2);
  if (!is_host(host) || !is_port(port))
    return invalid_argument("\"" + std::string(typed) + "\" is no address of a server such as 10.0.0.1:4647");
  const bool is_v6 = host.find(':') != std::string_view::npos;
  return (is_v6 ? "[" + std::string(host) + "]" : std::string(host)) + ":" + std::string(port);
}

void KnownServers::heard(std::vector<std::string> addresses) {
  const MutexLock lock(mutex_);
  if (!addresses.empty()) heard_ = std::move(addresses);
}

std::vector<std::string> KnownServers::all() const {
  std::vector<std::string> all;
  const std::vector<std::string> heard = rpc_addresses();
  for (const auto* list : {&configured_, &heard}) {
    for (const std::string& address : *list) {
      if (std::ranges::find(all, address) == all.end()) all.push_back(address);
    }
  }
  return all;
}

Result<v1::KnownServersResponse> KnownServers::list(const v1::KnownServersRequest&, Call&) {
  v1::KnownServersResponse response;
  for (std::string& address : all()) response.add_servers(std::move(address));
  return response;
}

Result<v1::ClientResponse> KnownServers::set(const v1::SetKnownServersRequest& request, Call&) {
  if (request.address().empty()) return invalid_argument("missing server address");
  std::vector<std::string> addresses;
  for (const std::string& typed : request.address()) {
    DROVER_TRY(std::string address, server_address(typed));
    addresses.push_back(std::move(address));
  }
  heard(std::move(addresses));
  return v1::ClientResponse();
}

}  // namespace drover::agent
