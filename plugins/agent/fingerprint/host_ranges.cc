#include "fingerprint/host_ranges.h"

#include <algorithm>
#include <charconv>
#include <optional>
#include <string>

#include "drover/subnet.h"
#include "drover/trim.h"

namespace drover::agent {
namespace {

constexpr int kMaxPort = 65535;
constexpr std::string_view kBetweenPorts = " ";  // the servers skip no others between ports

std::optional<int> number(std::string_view text) {
  int value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size() || text.empty()) return std::nullopt;
  return value;
}

}  // namespace

Status check_cidr(std::string_view cidr) {
  const Status status = parse_subnet(cidr).status();
  return status.ok() ? status : invalid_argument(std::string(status.message()) + " such as 10.0.0.0/8");
}

Status check_ports(std::string_view ports) {
  std::string_view left = ports;
  while (!left.empty()) {
    const size_t comma = std::min(left.find(','), left.size());
    const std::string_view part = trim(left.substr(0, comma), kBetweenPorts);
    left.remove_prefix(std::min(left.size(), comma + 1));
    const size_t dash = part.find('-');
    const auto first = number(trim(part.substr(0, dash), kBetweenPorts));
    const auto last = dash == std::string_view::npos ? first : number(trim(part.substr(dash + 1), kBetweenPorts));
    if (first && last && *first >= 1 && *first <= *last && *last <= kMaxPort) continue;
    return invalid_argument("\"" + std::string(part) + "\" is neither a port nor a range of ports such as 8500-8600");
  }
  return ok_status();
}

bool is_in_cidr(std::string_view address, std::string_view cidr) {
  const auto range = parse_subnet(cidr);
  return range.ok() && contains(*range, address);
}

}  // namespace drover::agent
