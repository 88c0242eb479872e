// Functions on IP networks in CIDR form, of both families.
#include <arpa/inet.h>

#include <array>
#include <charconv>

#include "functions.h"

namespace drover::hcl {
namespace {

__extension__ using Bits = unsigned __int128;  // an address as a number; of IPv4 in the low 32 bits

struct Network {
  Bits address = 0;  // the first one
  int prefix = 0;
  int width = 32;  // bits of an address

  int host_bits() const { return width - prefix; }
  Bits host_mask() const { return host_bits() == 128 ? ~Bits{0} : (Bits{1} << host_bits()) - 1; }
  Bits last() const { return address | host_mask(); }
};

Bits top_of(int width) { return width == 128 ? ~Bits{0} : (Bits{1} << width) - 1; }

std::string address_text(Bits address, int width) {
  std::array<unsigned char, 16> bytes{};
  size_t count = static_cast<size_t>(width) / 8;
  for (size_t i = count; i-- > 0; address >>= 8) bytes[i] = static_cast<unsigned char>(address & 255);
  std::array<char, INET6_ADDRSTRLEN> text;
  inet_ntop(width == 32 ? AF_INET : AF_INET6, bytes.data(), text.data(), text.size());
  return text.data();
}

std::string network_text(const Network& network) {
  return address_text(network.address, network.width) + "/" + std::to_string(network.prefix);
}

std::optional<Network> parse_network(const std::string& text) {
  size_t slash = text.find('/');
  if (slash == std::string::npos) return std::nullopt;
  std::string address = text.substr(0, slash);
  std::array<unsigned char, 16> bytes{};
  Network network;
  if (inet_pton(AF_INET, address.c_str(), bytes.data()) == 1) {
    network.width = 32;
  } else if (inet_pton(AF_INET6, address.c_str(), bytes.data()) == 1) {
    network.width = 128;
  } else {
    return std::nullopt;
  }
  const char* end = text.data() + text.size();
  auto [stopped, error] = std::from_chars(text.data() + slash + 1, end, network.prefix);
  if (error != std::errc() || stopped != end || network.prefix < 0 || network.prefix > network.width)
    return std::nullopt;
  for (size_t i = 0; i < static_cast<size_t>(network.width) / 8; ++i) network.address = network.address << 8 | bytes[i];
  network.address &= ~network.host_mask();
  return network;
}

Result<Network> network_argument(Arguments arguments, size_t i) {
  DROVER_TRY(std::string text, text_argument(arguments, i));
  if (std::optional<Network> network = parse_network(text)) return *network;
  return invalid_argument("argument " + std::to_string(i + 1) + " is no network such as 10.0.0.0/8: \"" + text + "\"");
}

// cidrhost(network, number): a negative number counts from the end.
Result<Value> cidr_host(Arguments arguments) {
  DROVER_TRY(Network network, network_argument(arguments, 0));
  DROVER_TRY(int64_t number, integer_argument(arguments, 1));
  Bits distance = number < 0 ? static_cast<Bits>(-(number + 1)) : static_cast<Bits>(number);
  if (distance > network.host_mask()) {
    return invalid_argument("a prefix of " + std::to_string(network.prefix) + " has no host number " +
                            std::to_string(number));
  }
  return Value(address_text(number < 0 ? network.last() - distance : network.address + distance, network.width));
}

Result<Value> cidr_netmask(Arguments arguments) {
  DROVER_TRY(Network network, network_argument(arguments, 0));
  if (network.width != 32) return invalid_argument("an IPv6 network has no netmask");
  return Value(address_text(top_of(32) & ~network.host_mask(), 32));
}

Status check_bits(const Network& network, int64_t bits, int64_t least) {
  if (bits < least || bits > 32) {
    return invalid_argument("a prefix can be extended by " + std::to_string(least) + " to 32 bits, not by " +
                            std::to_string(bits));
  }
  if (bits > network.host_bits()) {
    return invalid_argument("there are not enough bits to extend a prefix of " + std::to_string(network.prefix) +
                            " by " + std::to_string(bits));
  }
  return ok_status();
}

// cidrsubnet(network, bits, number)
Result<Value> cidr_subnet(Arguments arguments) {
  DROVER_TRY(Network network, network_argument(arguments, 0));
  DROVER_TRY(int64_t bits, integer_argument(arguments, 1));
  DROVER_TRY(int64_t number, integer_argument(arguments, 2));
  DROVER_RETURN_IF_ERROR(check_bits(network, bits, 0));
  if (number < 0 || number >= int64_t{1} << bits) {
    return invalid_argument("an extension of " + std::to_string(bits) + " bits has no subnet number " +
                            std::to_string(number));
  }
  network.prefix += static_cast<int>(bits);
  if (network.host_bits() < 128) network.address |= static_cast<Bits>(number) << network.host_bits();
  return Value(network_text(network));
}

// cidrsubnets(network, bits…): one behind the other, each aligned to its own size.
Result<Value> cidr_subnets(Arguments arguments) {
  DROVER_TRY(Network network, network_argument(arguments, 0));
  List subnets;
  Bits next = network.address;
  bool is_full = false;
  for (size_t i = 1; i < arguments.size(); ++i) {
    DROVER_TRY(int64_t bits, integer_argument(arguments, i));
    DROVER_RETURN_IF_ERROR(check_bits(network, bits, 1).with_context("argument " + std::to_string(i + 1)));
    Network subnet{.address = next, .prefix = network.prefix + static_cast<int>(bits), .width = network.width};
    Bits aligned = (next + subnet.host_mask()) & ~subnet.host_mask();
    is_full = is_full || aligned < next || aligned > network.last();
    if (is_full) {
      return invalid_argument("there is no room left for a subnet with a prefix of " + std::to_string(subnet.prefix) +
                              " bits");
    }
    subnet.address = aligned;
    subnets.push_back(network_text(subnet));
    is_full = subnet.last() == network.last();
    next = is_full ? subnet.last() : subnet.last() + 1;
  }
  return Value(std::move(subnets), Shape::collection);
}

}  // namespace

void add_network_functions(Functions& functions) {
  functions["cidrhost"] = with_count(2, 2, cidr_host);
  functions["cidrnetmask"] = with_count(1, 1, cidr_netmask);
  functions["cidrsubnet"] = with_count(3, 3, cidr_subnet);
  functions["cidrsubnets"] = with_count(1, kAnyCount, cidr_subnets);
}

}  // namespace drover::hcl
