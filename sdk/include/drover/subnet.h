// Ranges of network addresses. Pure.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>

#include "drover/result.h"

namespace drover {

struct Subnet {
  int bits = 32;    // how many of the first bits all its addresses share
  size_t size = 4;  // bytes of an address: 4 or 16
  std::array<uint8_t, 16> first{};

  bool is_v6() const { return size == 16; }
};

// "172.26.64.0/20"; bits beyond the prefix are cleared. Errors: invalid_argument.
Result<Subnet> parse_subnet(std::string_view text);
// "172.26.64.0/20"
std::string to_string(const Subnet& subnet);
// False also for a text that is no address.
bool contains(const Subnet& subnet, std::string_view address);

// The machines in it have the numbers from 1 to this one.
uint32_t hosts_in(const Subnet& subnet);
// Requires: 1 <= number <= hosts_in.
std::string host_address(const Subnet& subnet, uint32_t number);

}  // namespace drover
