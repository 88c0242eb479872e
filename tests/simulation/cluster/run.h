// One run: a cluster lives through the faults of its configuration, then everything heals, it must recover, and what
// the clients saw is judged. The same seed and configuration give the same run, event for event.
#pragma once

#include <cstdint>
#include <iosfwd>
#include <string>

#include "tests/simulation/check/invariants.h"
#include "tests/simulation/configuration.h"

namespace drover::simulation {

struct Outcome {
  Breach breach;            // no property: the run was good
  std::string last_events;  // of a bad one
  uint64_t trace_hash = 0;
  uint64_t events = 0;
  uint64_t operations = 0;  // that clients began
  uint64_t entries = 0;     // committed
  int64_t virtual_us = 0;

  bool is_good() const { return breach.property.empty(); }
};

// `story` gets every event as it happens; null for none. `history` gets what the clients saw, as a file of its format.
Outcome run(uint64_t seed, const Configuration& configuration, std::ostream* story = nullptr,
            std::ostream* history = nullptr);

// The newest events of the run that is under way, for a process that is about to end in the middle of it.
std::string events_under_way();

}  // namespace drover::simulation
