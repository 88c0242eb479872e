// Reports for people: a failure with everything needed to repeat it, the table of planted bugs.
#pragma once

#include <iosfwd>
#include <string>
#include <vector>

#include "tests/simulation/configuration.h"
#include "tests/simulation/sweep.h"

namespace drover::simulation {

// Names the sources of the simulator and of what it runs: sixteen hexadecimal digits, the same wherever they are built.
const char* source_id();

// Runs the seed again, makes its configuration simpler for `shrink_seconds` (0: not) and says what broke, what happened
// before, and how to see it again. `bug` is the planted one, or empty.
void report_failure(uint64_t seed, const Configuration& configuration, const std::string& bug, double shrink_seconds,
                    std::ostream& out);

struct MutantResult {
  std::string bug;
  bool is_found = false;
  SweepResult sweep;
  std::string property{};  // that broke
};
// As a Markdown table.
void write_mutants(const std::vector<MutantResult>& results, std::ostream& out);

}  // namespace drover::simulation
