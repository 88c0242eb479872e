#include "drover/units.h"

#include <algorithm>
#include <charconv>

namespace drover {
namespace {

using enum Unit::Base;

constexpr int64_t kKilo = 1000, kMega = kKilo * 1000, kGiga = kMega * 1000, kTera = kGiga * 1000, kPeta = kTera * 1000,
                  kExa = kPeta * 1000;

constexpr Unit kUnits[] = {
    {"KiB", byte, 1LL << 10},
    {"MiB", byte, 1LL << 20},
    {"GiB", byte, 1LL << 30},
    {"TiB", byte, 1LL << 40},
    {"PiB", byte, 1LL << 50},
    {"EiB", byte, 1LL << 60},
    {"kB", byte, kKilo},
    {"KB", byte, kKilo},
    {"MB", byte, kMega},
    {"GB", byte, kGiga},
    {"TB", byte, kTera},
    {"PB", byte, kPeta},
    {"EB", byte, kExa},
    {"KiB/s", byte_rate, 1LL << 10},
    {"MiB/s", byte_rate, 1LL << 20},
    {"GiB/s", byte_rate, 1LL << 30},
    {"TiB/s", byte_rate, 1LL << 40},
    {"PiB/s", byte_rate, 1LL << 50},
    {"EiB/s", byte_rate, 1LL << 60},
    {"kB/s", byte_rate, kKilo},
    {"KB/s", byte_rate, kKilo},
    {"MB/s", byte_rate, kMega},
    {"GB/s", byte_rate, kGiga},
    {"TB/s", byte_rate, kTera},
    {"PB/s", byte_rate, kPeta},
    {"EB/s", byte_rate, kExa},
    {"MHz", hertz, kMega},
    {"GHz", hertz, kGiga},
    {"mW", milliwatt, 1},
    {"W", milliwatt, kKilo},
    {"kW", milliwatt, kMega},
    {"MW", milliwatt, kGiga},
    {"GW", milliwatt, kTera},
};

// The longest of several.
const Unit* unit_at_end(std::string_view text) {
  const Unit* longest = nullptr;
  for (const Unit& unit : kUnits) {
    if (text.ends_with(unit.name) && (!longest || unit.name.size() > longest->name.size())) longest = &unit;
  }
  return longest;
}

template <typename Number>
std::optional<Number> number_of(std::string_view text) {
  if (text.starts_with('+')) text.remove_prefix(1);
  Number value{};
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return value;
}

}  // namespace

std::span<const Unit> known_units() { return kUnits; }

const Unit* find_unit(std::string_view name) {
  const auto* found = std::ranges::find(kUnits, name, &Unit::name);
  return found == std::end(kUnits) ? nullptr : found;
}

std::optional<Quantity> parse_quantity(std::string_view text) {
  const Unit* unit = unit_at_end(text);
  if (unit) text.remove_suffix(unit->name.size());
  while (unit && (text.ends_with(' ') || text.ends_with('\t'))) text.remove_suffix(1);
  if (const auto whole = number_of<int64_t>(text)) return Quantity{*whole, unit};
  if (const auto real = number_of<double>(text)) return Quantity{*real, unit};
  return std::nullopt;
}

}  // namespace drover
