#include "tests/simulation/report.h"

#include <ostream>

#include "tests/simulation/shrink.h"

namespace drover::simulation {
namespace {

std::string command(uint64_t seed, const Configuration& configuration, const std::string& bug) {
  std::string text = bug.empty() ? "simulate" : "simulate_planted --bug " + bug;
  text += " --seed " + std::to_string(seed);
  const std::string changed = difference(configuration, draw_configuration(seed));
  return changed.empty() ? text : text + " --set " + changed;
}

}  // namespace

void report_failure(uint64_t seed, const Configuration& configuration, const std::string& bug, double shrink_seconds,
                    std::ostream& out) {
  Outcome outcome = run_isolated(seed, configuration);
  if (outcome.is_good()) {
    out << "seed " << seed << " failed, and is good when it is run again: a run depends on more than its seed\n"
        << "source " << source_id() << "\nagain: " << command(seed, configuration, bug) << "\n";
    return;
  }
  Configuration simplest = configuration;
  if (shrink_seconds > 0) {
    const Shrunken shrunken = shrink(seed, configuration, outcome.breach.property, shrink_seconds);
    simplest = shrunken.configuration;
    outcome = run_isolated(seed, simplest);
    out << "made simpler in " << shrunken.runs << " runs\n";
  }
  out << "the last events:\n"
      << outcome.last_events << "\nFAILED: seed " << seed << ", source " << source_id() << "\n"
      << outcome.breach.property << ": " << outcome.breach.what << "\n"
      << "drawn:   " << difference(configuration, Configuration()) << "\n"
      << "again:   " << command(seed, configuration, bug) << " --trace\n"
      << "simpler: " << command(seed, simplest, bug) << " --trace\n"
      << "corpus:  " << seed << " " << difference(simplest, Configuration()) << "  # " << outcome.breach.property
      << "\n";
}

void write_mutants(const std::vector<MutantResult>& results, std::ostream& out) {
  const auto found = std::ranges::count(results, true, &MutantResult::is_found);
  out << "| planted bug | found after | seconds | by |\n| --- | --- | --- | --- |\n";
  for (const MutantResult& result : results) {
    char seconds[32];
    std::snprintf(seconds, sizeof seconds, "%.1f", result.sweep.seconds);
    out << "| `" << result.bug << "` | " << (result.is_found ? "" : "not in ")
        << result.sweep.totals.seeds + result.is_found
        << (result.sweep.totals.seeds + result.is_found == 1 ? " seed" : " seeds") << " | " << seconds << " | "
        << (result.is_found ? result.property : "") << " |\n";
  }
  out << "\n" << found << " of " << results.size() << " found.\n";
}

}  // namespace drover::simulation
