// Values of device attributes as constraints compare them: numbers with units, truths and texts. Pure.
//
//   "8 GiB" ──parse──▶ 8 with unit GiB          11264 MiB of a node ▲ compares with it in bytes
#pragma once

#include <compare>
#include <optional>
#include <string>
#include <string_view>

#include "drover/v1/node.pb.h"

namespace drover::scheduler {

// A number, perhaps with a unit behind it; else "true" or "false"; else text.
v1::DeviceAttribute parse_device_value(std::string_view text);

// The value's own text: "8 GiB" is "8GiB".
std::string to_text(const v1::DeviceAttribute& value);

// Numbers in their base unit, texts by bytes; truths are equal or greater. Nothing when they cannot be compared: units
// of two kinds, or one with and one without, or a truth and a number. A text compares with anything by text.
std::optional<std::partial_ordering> compare_device_values(const v1::DeviceAttribute& left,
                                                           const v1::DeviceAttribute& right);

// True when the operator of a constraint or an affinity holds. An absent value is nothing.
bool device_values_meet(std::string_view operand, const std::optional<v1::DeviceAttribute>& left,
                        const std::optional<v1::DeviceAttribute>& right);

}  // namespace drover::scheduler
