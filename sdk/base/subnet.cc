#include "subnet.h"

#include <arpa/inet.h>

#include <algorithm>
#include <charconv>

namespace drover::networks {
namespace {

constexpr int kMostHostBits = 24;  // of which numbers are given

std::string text_of_bytes(const Subnet& subnet, const std::array<uint8_t, 16>& bytes) {
  std::array<char, INET6_ADDRSTRLEN> text{};
  ::inet_ntop(subnet.is_v6() ? AF_INET6 : AF_INET, bytes.data(), text.data(), text.size());
  return text.data();
}

}  // namespace

Result<Subnet> parse_subnet(std::string_view text) {
  const Status bad = invalid_argument("\"" + std::string(text) + "\" is no range of addresses");
  const size_t slash = text.find('/');
  if (slash == std::string_view::npos) return bad;
  const std::string address(text.substr(0, slash));
  Subnet subnet;
  if (::inet_pton(AF_INET, address.c_str(), subnet.first.data()) != 1) {
    subnet.size = 16;
    if (::inet_pton(AF_INET6, address.c_str(), subnet.first.data()) != 1) return bad;
  }
  const std::string_view bits = text.substr(slash + 1);
  const auto [end, error] = std::from_chars(bits.data(), bits.data() + bits.size(), subnet.bits);
  const bool is_number = error == std::errc() && end == bits.data() + bits.size();
  if (!is_number || subnet.bits < 0 || subnet.bits > static_cast<int>(subnet.size) * 8) return bad;
  for (int bit = subnet.bits; bit < static_cast<int>(subnet.size) * 8; ++bit)
    subnet.first[static_cast<size_t>(bit / 8)] &= static_cast<uint8_t>(~(0x80U >> (bit % 8)));
  return subnet;
}

std::string text_of(const Subnet& subnet) {
  return text_of_bytes(subnet, subnet.first) + "/" + std::to_string(subnet.bits);
}

uint32_t hosts_of(const Subnet& subnet) {
  const int host_bits = static_cast<int>(subnet.size) * 8 - subnet.bits;
  if (host_bits < 2) return 0;
  // The first address names the subnet, the last one all of its machines.
  return (1U << std::min(host_bits, kMostHostBits)) - 2;
}

std::string address_of(const Subnet& subnet, uint32_t number) {
  std::array<uint8_t, 16> bytes = subnet.first;
  for (size_t i = 0; i < 4; ++i) bytes[subnet.size - 1 - i] |= static_cast<uint8_t>(number >> (8 * i));
  return text_of_bytes(subnet, bytes);
}

Result<uint32_t> free_number(const std::set<uint32_t>& taken, uint32_t last, uint32_t hosts) {
  for (uint32_t step = 0; step < hosts; ++step) {
    last = last >= hosts ? 1 : last + 1;
    if (last > 1 && !taken.contains(last)) return last;
  }
  return resource_exhausted("all " + std::to_string(hosts) + " addresses of the bridge's subnet are in use");
}

}  // namespace drover::networks
