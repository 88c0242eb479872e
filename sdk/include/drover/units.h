// Units that attributes of devices carry: bytes, bytes a second, hertz and watts, as the published device protocol
// knows them. Pure. [any]
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

namespace drover {

struct Unit {
  enum class Base : uint8_t { byte, byte_rate, hertz, milliwatt };

  std::string_view name;  // "GiB"
  Base base;
  int64_t multiplier;  // how many of the base it is
};

std::span<const Unit> known_units();
// Null when there is none of that name. Upper and lower case count: "mW" is not "MW".
const Unit* find_unit(std::string_view name);
// The unit that the text ends with, the longest of several; null when there is none.
const Unit* unit_at_end(std::string_view text);

}  // namespace drover
