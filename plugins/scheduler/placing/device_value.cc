#include "device_value.h"

#include <charconv>

#include "drover/model/constraint.h"
#include "drover/units.h"

namespace drover::scheduler {
namespace {

// Wide enough that an integer of 63 bits stays exact.
long double magnitude(const v1::DeviceAttribute& value, const Unit* unit) {
  const long double number = value.has_int_value() ? static_cast<long double>(value.int_value())
                                                   : static_cast<long double>(value.float_value());
  return unit ? number * static_cast<long double>(unit->multiplier) : number;
}

std::optional<std::partial_ordering> compare_numbers(const v1::DeviceAttribute& left,
                                                     const v1::DeviceAttribute& right) {
  const Unit* left_unit = find_unit(left.unit());
  const Unit* right_unit = find_unit(right.unit());
  if ((left_unit == nullptr) != (right_unit == nullptr)) return std::nullopt;
  if (left_unit && left_unit->base != right_unit->base) return std::nullopt;
  return magnitude(left, left_unit) <=> magnitude(right, right_unit);
}

bool is_in_order(std::string_view operand, std::partial_ordering order) {
  if (operand == "<") return order < 0;
  if (operand == "<=") return order <= 0;
  if (operand == ">") return order > 0;
  if (operand == ">=") return order >= 0;
  return order == 0;
}

bool is_comparison(std::string_view operand) {
  for (const std::string_view known : {"", "=", "==", "is", "<", "<=", ">", ">="}) {
    if (operand == known) return true;
  }
  return false;
}

}  // namespace

v1::DeviceAttribute parse_device_value(std::string_view text) {
  v1::DeviceAttribute value;
  if (const auto quantity = parse_quantity(text)) {
    if (const auto* whole = std::get_if<int64_t>(&quantity->number)) {
      value.set_int_value(*whole);
    } else {
      value.set_float_value(std::get<double>(quantity->number));
    }
    if (quantity->unit) value.set_unit(std::string(quantity->unit->name));
  } else if (text == "true" || text == "false") {
    value.set_bool_value(text == "true");
  } else {
    value.set_string_value(std::string(text));
  }
  return value;
}

std::string to_text(const v1::DeviceAttribute& value) {
  if (value.has_string_value()) return value.string_value();
  if (value.has_bool_value()) return value.bool_value() ? "true" : "false";
  if (value.has_int_value()) return std::to_string(value.int_value()) + value.unit();
  char text[64];
  const auto [end, error] = std::to_chars(text, text + sizeof(text), value.float_value());
  return std::string(text, end) + value.unit();
}

std::optional<std::partial_ordering> compare_device_values(const v1::DeviceAttribute& left,
                                                           const v1::DeviceAttribute& right) {
  if (left.has_string_value() || right.has_string_value()) {
    const std::strong_ordering order = to_text(left) <=> to_text(right);
    return order;
  }
  if (left.has_bool_value() != right.has_bool_value()) return std::nullopt;
  if (left.has_bool_value()) {
    return left.bool_value() == right.bool_value() ? std::partial_ordering::equivalent : std::partial_ordering::greater;
  }
  return compare_numbers(left, right);
}

bool device_values_meet(std::string_view operand, const std::optional<v1::DeviceAttribute>& left,
                        const std::optional<v1::DeviceAttribute>& right) {
  if (operand == "is_set" || operand == "attribute_is_set") return left.has_value();
  if (operand == "is_not_set") return !left.has_value();
  if (operand == "!=" || operand == "not") {
    if (!left && !right) return false;
    if (!left || !right) return true;
    const auto order = compare_device_values(*left, *right);
    return order && *order != 0;
  }
  if (!left || !right) return false;
  if (is_comparison(operand)) {
    const auto order = compare_device_values(*left, *right);
    return order && is_in_order(operand, *order);
  }
  return compare_values(operand, to_text(*left), to_text(*right));  // versions, patterns, lists: of texts
}

}  // namespace drover::scheduler
