#include "fingerprint/host_ranges.h"

#include <arpa/inet.h>

#include <algorithm>
#include <charconv>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "fingerprint/trim.h"

namespace drover::agent {
namespace {

constexpr int kMaxPort = 65535;
constexpr std::string_view kBlanks = " ";  // the servers skip no others between ports

// The bytes of an address: four or sixteen.
std::optional<std::vector<uint8_t>> bytes_of(std::string_view text) {
  const std::string address(text);
  std::vector<uint8_t> bytes(4);
  if (::inet_pton(AF_INET, address.c_str(), bytes.data()) == 1) return bytes;
  bytes.resize(16);
  if (::inet_pton(AF_INET6, address.c_str(), bytes.data()) == 1) return bytes;
  return std::nullopt;
}

std::optional<int> number(std::string_view text) {
  int value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size() || text.empty()) return std::nullopt;
  return value;
}

struct Range {
  std::vector<uint8_t> bytes;  // of an address in it
  int bits = 0;                // how many of its first bits all its addresses share
};

// Nothing: it is no range of addresses.
std::optional<Range> parse_range(std::string_view cidr) {
  const size_t slash = cidr.find('/');
  if (slash == std::string_view::npos) return std::nullopt;
  auto bytes = bytes_of(cidr.substr(0, slash));
  const auto bits = number(cidr.substr(slash + 1));
  if (!bytes || !bits || *bits < 0 || *bits > static_cast<int>(bytes->size()) * 8) return std::nullopt;
  return Range{*std::move(bytes), *bits};
}

}  // namespace

Status check_cidr(std::string_view cidr) {
  if (parse_range(cidr)) return ok_status();
  return invalid_argument("\"" + std::string(cidr) + "\" is no range of addresses such as 10.0.0.0/8");
}

Status check_ports(std::string_view ports) {
  std::string_view left = ports;
  while (!left.empty()) {
    const size_t comma = std::min(left.find(','), left.size());
    const std::string_view part = trim(left.substr(0, comma), kBlanks);
    left.remove_prefix(std::min(left.size(), comma + 1));
    const size_t dash = part.find('-');
    const auto first = number(trim(part.substr(0, dash), kBlanks));
    const auto last = dash == std::string_view::npos ? first : number(trim(part.substr(dash + 1), kBlanks));
    if (first && last && *first >= 1 && *first <= *last && *last <= kMaxPort) continue;
    return invalid_argument("\"" + std::string(part) + "\" is neither a port nor a range of ports such as 8500-8600");
  }
  return ok_status();
}

bool is_in_cidr(std::string_view address, std::string_view cidr) {
  const auto range = parse_range(cidr);
  const auto given = bytes_of(address);
  if (!range || !given || range->bytes.size() != given->size()) return false;
  int bits = range->bits;
  for (size_t i = 0; i < given->size() && bits > 0; ++i, bits -= 8) {
    const auto mask = static_cast<uint8_t>(bits >= 8 ? 0xff : 0xff << (8 - bits));
    if ((range->bytes[i] & mask) != ((*given)[i] & mask)) return false;
  }
  return true;
}

}  // namespace drover::agent
