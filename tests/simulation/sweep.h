// Runs in processes of their own: many seeds side by side, and one run whose process may abort or never end. A broken
// invariant of the core ends its process; here that is a finding like any other.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "tests/simulation/cluster/run.h"

namespace drover::simulation {

constexpr int kSecondsForARun = 30;  // of processor time; a run that takes longer hangs

// In this process: breaks a rule of the core. Empty: none. Errors: invalid_argument, failed_precondition when this
// program is built without bugs.
Status plant_bug(const std::string& name);
std::vector<std::string> plantable_bugs();

// The same as run(), but survives the end of the process that runs it.
Outcome run_isolated(uint64_t seed, const Configuration& configuration);

struct Totals {
  uint64_t seeds = 0;
  uint64_t events = 0;
  uint64_t operations = 0;
  uint64_t entries = 0;
  uint64_t virtual_us = 0;

  void add(const Outcome& outcome);
  void add(const Totals& other);
};

struct Sweep {
  uint64_t from = 1;
  uint64_t count = 0;  // 0: until the time is over
  double seconds = 0;  // 0: until all are done
  int jobs = 1;
  std::string overrides{};  // for set_fields
  bool must_agree = false;  // runs each seed twice and compares the traces
};

struct SweepResult {
  Totals totals;
  double seconds = 0;
  bool has_failed = false;
  uint64_t failed_seed = 0;  // when it has
  int failed_signal = 0;     // what ended its process; 0: the run was judged
  // Rare branches of the core and how often they were taken by workers that came to their end; only in the program with
  // bugs to plant.
  std::map<std::string, uint64_t> marks{};
};

// Until the first failure, the last seed or the end of the time. `progress` is called about once a second.
SweepResult sweep(const Sweep& plan, const std::function<void(const SweepResult&)>& progress);

}  // namespace drover::simulation
