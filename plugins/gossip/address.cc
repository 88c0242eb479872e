#include "address.h"

#include <algorithm>
#include <charconv>

namespace drover::gossip {

std::string Address::to_string() const {
  return (host.find(':') == std::string::npos ? host : "[" + host + "]") + ":" + std::to_string(port);
}

Result<Address> parse_address(std::string_view text) {
  const auto wrong = [&](std::string_view why) {
    return invalid_argument("address \"" + std::string(text) + "\" " + std::string(why));
  };
  if (text.find('=') != std::string_view::npos)
    return wrong("asks for a lookup at a cloud provider, which this version does not have; name hosts");
  std::string_view host = text, port;
  if (text.starts_with('[')) {
    const size_t end = text.find(']');
    if (end == std::string_view::npos) return wrong("has no closing bracket");
    host = text.substr(1, end - 1);
    const std::string_view rest = text.substr(end + 1);
    if (!rest.empty() && (rest[0] != ':' || rest.size() == 1)) return wrong("has something else than :port at its end");
    if (!rest.empty()) port = rest.substr(1);
  } else if (std::ranges::count(text, ':') == 1) {
    const size_t colon = text.find(':');
    host = text.substr(0, colon);
    port = text.substr(colon + 1);
    if (port.empty()) return wrong("has no port behind its colon");
  }
  if (host.empty()) return wrong("names no host");
  Address address{.host = std::string(host), .port = kDefaultPort};
  if (!port.empty()) {
    const auto [end, error] = std::from_chars(port.data(), port.data() + port.size(), address.port);
    if (error != std::errc() || end != port.data() + port.size() || address.port == 0)
      return wrong("has a port that is not between 1 and 65535");
  }
  return address;
}

}  // namespace drover::gossip
