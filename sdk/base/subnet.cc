#include "drover/subnet.h"

#include <arpa/inet.h>

#include <algorithm>
#include <charconv>

namespace drover {
namespace {

constexpr int kMostHostBits = 24;  // that are numbered

using Bytes = std::array<uint8_t, 16>;

// The size of the address: 4 or 16; 0 for a text that is none.
size_t read_address(std::string_view text, Bytes& bytes) {
  const std::string address(text);
  if (::inet_pton(AF_INET, address.c_str(), bytes.data()) == 1) return 4;
  return ::inet_pton(AF_INET6, address.c_str(), bytes.data()) == 1 ? 16 : 0;
}

std::string text_of(const Subnet& subnet, const Bytes& bytes) {
  std::array<char, INET6_ADDRSTRLEN> text{};
  ::inet_ntop(subnet.is_v6() ? AF_INET6 : AF_INET, bytes.data(), text.data(), text.size());
  return text.data();
}

// Clears the bits behind the prefix.
void cut(const Subnet& subnet, Bytes& bytes) {
  for (int bit = subnet.bits; bit < static_cast<int>(subnet.size) * 8; ++bit)
    bytes[static_cast<size_t>(bit / 8)] &= static_cast<uint8_t>(~(0x80U >> (bit % 8)));
}

}  // namespace

Result<Subnet> parse_subnet(std::string_view text) {
  const size_t slash = text.find('/');
  const std::string_view bits = slash == std::string_view::npos ? std::string_view() : text.substr(slash + 1);
  Subnet subnet;
  subnet.size = read_address(text.substr(0, slash), subnet.first);
  const auto [end, error] = std::from_chars(bits.data(), bits.data() + bits.size(), subnet.bits);
  const bool is_number = error == std::errc() && end == bits.data() + bits.size();
  if (subnet.size == 0 || !is_number || subnet.bits < 0 || subnet.bits > static_cast<int>(subnet.size) * 8)
    return invalid_argument("\"" + std::string(text) + "\" is no range of addresses");
  cut(subnet, subnet.first);
  return subnet;
}

std::string to_string(const Subnet& subnet) {
  return text_of(subnet, subnet.first) + "/" + std::to_string(subnet.bits);
}

bool contains(const Subnet& subnet, std::string_view address) {
  Bytes bytes{};
  if (read_address(address, bytes) != subnet.size) return false;
  cut(subnet, bytes);
  return bytes == subnet.first;
}

uint32_t hosts_in(const Subnet& subnet) {
  const int host_bits = static_cast<int>(subnet.size) * 8 - subnet.bits;
  if (host_bits < 2) return 0;
  // The first address names the subnet, the last one all of its machines.
  return (1U << std::min(host_bits, kMostHostBits)) - 2;
}

std::string host_address(const Subnet& subnet, uint32_t number) {
  Bytes bytes = subnet.first;
  for (size_t i = 0; i < 4; ++i) bytes[subnet.size - 1 - i] |= static_cast<uint8_t>(number >> (8 * i));
  return text_of(subnet, bytes);
}

}  // namespace drover
