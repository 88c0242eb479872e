// Units that attributes of devices carry: bytes, bytes a second, hertz and watts, as the published device protocol
// knows them. Pure. [any]
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <variant>

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

struct Quantity {
  std::variant<int64_t, double> number;
  const Unit* unit = nullptr;  // null: none
};
// A number, perhaps with a unit behind it, with or without space between: "8", "1.5 GiB", "250mW". Whole where it can
// be. Nothing when the text is anything else.
std::optional<Quantity> parse_quantity(std::string_view text);

}  // namespace drover
