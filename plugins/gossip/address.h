// A server's address, as operators write it. Pure.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "drover/result.h"

namespace drover::gossip {

struct Address {
  std::string host;  // a name or an address, IPv6 without brackets
  uint16_t port = 0;

  std::string to_string() const;  // "host:port", "[v6]:port"
};

constexpr uint16_t kDefaultPort = 4648;

// "host", "host:port", "[v6]", "[v6]:port" or a bare IPv6 address. Errors: invalid_argument; also for "provider=…",
// which this version cannot look up.
Result<Address> parse_address(std::string_view text);

}  // namespace drover::gossip
