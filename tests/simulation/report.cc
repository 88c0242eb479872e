#include "tests/simulation/report.h"

#include <elf.h>
#include <link.h>

#include <algorithm>
#include <cstdio>
#include <cstring>
#include <ostream>

#include "tests/simulation/shrink.h"

namespace drover::simulation {
namespace {

// The note that --build-id leaves in the first object, which is the program itself.
int find_build_id(dl_phdr_info* info, size_t, void* out) {
  for (int i = 0; i < info->dlpi_phnum; ++i) {
    const ElfW(Phdr)& part = info->dlpi_phdr[i];
    if (part.p_type != PT_NOTE) continue;
    const char* at = reinterpret_cast<const char*>(info->dlpi_addr + part.p_vaddr);
    const char* const end = at + part.p_memsz;
    while (at + sizeof(ElfW(Nhdr)) <= end) {
      ElfW(Nhdr) note;
      std::memcpy(&note, at, sizeof note);
      const char* const name = at + sizeof note;
      const char* const content = name + (note.n_namesz + 3) / 4 * 4;
      if (note.n_type == NT_GNU_BUILD_ID && note.n_namesz == 4 && std::memcmp(name, "GNU", 4) == 0) {
        char digits[3];
        for (uint32_t byte = 0; byte < std::min<uint32_t>(note.n_descsz, 8); ++byte) {
          std::snprintf(digits, sizeof digits, "%02x", static_cast<unsigned>(static_cast<uint8_t>(content[byte])));
          *static_cast<std::string*>(out) += digits;
        }
        return 1;
      }
      at = content + (note.n_descsz + 3) / 4 * 4;
    }
  }
  return 1;
}

std::string command(uint64_t seed, const Configuration& configuration, const std::string& bug) {
  std::string text = bug.empty() ? "simulate" : "simulate_planted --bug " + bug;
  text += " --seed " + std::to_string(seed);
  const std::string changed = difference(configuration, draw_configuration(seed));
  return changed.empty() ? text : text + " --set " + changed;
}

}  // namespace

std::string build_id() {
  std::string id;
  ::dl_iterate_phdr(find_build_id, &id);
  return id.empty() ? "unknown" : id;
}

void report_failure(uint64_t seed, const Configuration& configuration, const std::string& bug, double shrink_seconds,
                    std::ostream& out) {
  Outcome outcome = run_isolated(seed, configuration);
  if (outcome.is_good()) {
    out << "seed " << seed << " failed, and is good when it is run again: a run depends on more than its seed\n"
        << "build " << build_id() << "\nagain: " << command(seed, configuration, bug) << "\n";
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
      << outcome.last_events << "\nFAILED: seed " << seed << ", build " << build_id() << "\n"
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
