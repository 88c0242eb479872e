#include "drover/units.h"

#include <algorithm>

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

}  // namespace

std::span<const Unit> known_units() { return kUnits; }

const Unit* find_unit(std::string_view name) {
  const auto* found = std::ranges::find(kUnits, name, &Unit::name);
  return found == std::end(kUnits) ? nullptr : found;
}

const Unit* unit_at_end(std::string_view text) {
  const Unit* longest = nullptr;
  for (const Unit& unit : kUnits) {
    if (text.ends_with(unit.name) && (!longest || unit.name.size() > longest->name.size())) longest = &unit;
  }
  return longest;
}

}  // namespace drover
