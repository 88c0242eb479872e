#include "drover/model/time_zone.h"

#include <absl/time/time.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <limits>
#include <utility>

namespace drover {
namespace {

constexpr size_t kMaxName = 64;

// Letters, digits, "+", "-", "_" and single slashes inside: no way out of the database's folder.
bool is_name(const std::string& name) {
  if (name.empty() || name.size() > kMaxName || name.front() == '/' || name.back() == '/') return false;
  return name.find("//") == std::string::npos && std::ranges::all_of(name, [](char c) {
           return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '+' || c == '-' ||
                  c == '_' || c == '/';
         });
}

// Abseil remembers every name it was ever asked for, so only those that exist are asked.
bool exists(const std::string& name) {
  const char* folder = std::getenv("TZDIR");
  std::error_code error;
  return std::filesystem::is_regular_file(
      std::filesystem::path(folder && *folder ? folder : "/usr/share/zoneinfo") / name, error);
}

}  // namespace

struct TimeZone::Zone {
  absl::TimeZone zone;
};

Result<TimeZone> TimeZone::load(const std::string& name) {
  auto zone = std::make_shared<Zone>();
  if (name.empty() || name == "UTC") {
    zone->zone = absl::UTCTimeZone();
  } else if (!is_name(name) || !exists(name) || !absl::LoadTimeZone(name, &zone->zone)) {
    return invalid_argument("\"" + name +
                            "\" is no time zone of this machine's database; a name is like Europe/Berlin or UTC, and "
                            "the package tzdata brings them");
  }
  return TimeZone(std::move(zone));
}

TimeZone::Span TimeZone::at(int64_t instant) const {
  const absl::Time time = absl::FromUnixSeconds(instant);
  Span span{zone_->zone.At(time).offset, std::numeric_limits<int64_t>::max()};
  // A change may be of the name alone; what counts here is the offset, and a span too many does no harm.
  absl::TimeZone::CivilTransition change;
  if (zone_->zone.NextTransition(time, &change)) {
    span.end = absl::ToUnixSeconds(zone_->zone.At(change.to).trans);
  }
  return span;
}

}  // namespace drover
