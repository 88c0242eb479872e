// Ranges of addresses from which allocations get theirs. Pure.
#pragma once

#include <array>
#include <cstdint>
#include <set>
#include <string>
#include <string_view>

#include "drover/result.h"

namespace drover::networks {

struct Subnet {
  int bits = 32;       // how many of the first bits all its addresses share
  size_t size = 4;     // bytes of an address: 4 or 16
  std::array<uint8_t, 16> first{};

  bool is_v6() const { return size == 16; }
};

// "172.26.64.0/20"; bits beyond the prefix are cleared. Errors: invalid_argument.
Result<Subnet> parse_subnet(std::string_view text);
// "172.26.64.0/20"
std::string text_of(const Subnet& subnet);

// The numbers 1 to this are addresses of machines in the subnet; 1 is the bridge's.
uint32_t hosts_of(const Subnet& subnet);
// Requires: 1 <= number <= hosts_of.
std::string address_of(const Subnet& subnet, uint32_t number);

// The next number above `last`, around the end, that is not taken; 1 is nobody's. Errors: resource_exhausted.
Result<uint32_t> free_number(const std::set<uint32_t>& taken, uint32_t last, uint32_t hosts);

}  // namespace drover::networks
