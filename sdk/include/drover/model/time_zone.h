// A time zone by its IANA name, from the system's database (package tzdata). Abseil reads it; only time_zone.cc
// includes that. [any]
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "drover/result.h"

namespace drover {

class TimeZone {
 public:
  // "UTC", "Europe/Berlin"; empty is UTC. Errors: invalid_argument for a name that the system's database lacks.
  static Result<TimeZone> load(const std::string& name);

  // The clocks there at an instant: how far they are ahead of UTC, and the instant from which on that changes.
  // All in seconds; instants count from 1970 in UTC.
  struct Span {
    int64_t ahead;
    int64_t end;  // INT64_MAX: never
  };
  Span at(int64_t instant) const;

 private:
  struct Zone;
  explicit TimeZone(std::shared_ptr<const Zone> zone) : zone_(std::move(zone)) {}
  std::shared_ptr<const Zone> zone_;
};

}  // namespace drover
