#include "fingerprint/host_ranges.h"

#include <arpa/inet.h>

#include <algorithm>
#include <charconv>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace drover::agent {
namespace {

constexpr int kMaxPort = 65535;

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

std::string_view trimmed(std::string_view text) {
  while (!text.empty() && text.front() == ' ') text.remove_prefix(1);
  while (!text.empty() && text.back() == ' ') text.remove_suffix(1);
  return text;
}

}  // namespace

Status check_cidr(std::string_view cidr) {
  const size_t slash = cidr.find('/');
  const auto address = bytes_of(cidr.substr(0, slash));
  const auto bits = slash == std::string_view::npos ? std::nullopt : number(cidr.substr(slash + 1));
  if (address && bits && *bits >= 0 && *bits <= static_cast<int>(address->size()) * 8) return ok_status();
  return invalid_argument("\"" + std::string(cidr) + "\" is no range of addresses such as 10.0.0.0/8");
}

Status check_ports(std::string_view ports) {
  std::string_view left = ports;
  while (!left.empty()) {
    const size_t comma = std::min(left.find(','), left.size());
    const std::string_view part = trimmed(left.substr(0, comma));
    left.remove_prefix(std::min(left.size(), comma + 1));
    const size_t dash = part.find('-');
    const auto first = number(trimmed(part.substr(0, dash)));
    const auto last = dash == std::string_view::npos ? first : number(trimmed(part.substr(dash + 1)));
    if (first && last && *first >= 1 && *first <= *last && *last <= kMaxPort) continue;
    return invalid_argument("\"" + std::string(part) + "\" is neither a port nor a range of ports such as 8500-8600");
  }
  return ok_status();
}

bool is_in_cidr(std::string_view address, std::string_view cidr) {
  const size_t slash = cidr.find('/');
  const auto wanted = bytes_of(cidr.substr(0, slash)), given = bytes_of(address);
  if (!wanted || !given || wanted->size() != given->size()) return false;
  int bits = number(cidr.substr(slash + 1)).value_or(0);
  for (size_t i = 0; i < given->size() && bits > 0; ++i, bits -= 8) {
    const auto mask = static_cast<uint8_t>(bits >= 8 ? 0xff : 0xff << (8 - bits));
    if (((*wanted)[i] & mask) != ((*given)[i] & mask)) return false;
  }
  return true;
}

}  // namespace drover::agent
