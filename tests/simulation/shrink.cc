#include "tests/simulation/shrink.h"

#include <algorithm>
#include <chrono>

#include "tests/simulation/sweep.h"

namespace drover::simulation {
namespace {

class Shrinker {
 public:
  Shrinker(uint64_t seed, const Configuration& failing, const std::string& property, double seconds)
      : seed_(seed),
        property_(property),
        end_(std::chrono::steady_clock::now() +
             std::chrono::duration_cast<std::chrono::nanoseconds>(std::chrono::duration<double>(seconds))) {
    best_.configuration = failing;
  }

  Shrunken run() {
    while (simplify() || shorten()) {
    }
    return best_;
  }

 private:
  bool is_over() const { return std::chrono::steady_clock::now() >= end_; }

  bool accept(const Configuration& simpler) {
    if (is_over()) return false;
    ++best_.runs;
    if (run_isolated(seed_, simpler).breach.property != property_) return false;
    best_.configuration = simpler;
    return true;
  }

  // Tries each field once; true when any of them could be made harmless.
  bool simplify() {
    bool has_changed = false;
    for (const ConfigurationField& field : configuration_fields()) {
      Configuration simpler = best_.configuration;
      int64_t& value = simpler.*field.place;
      if (field.harmless < 0 || value == field.harmless) continue;
      value = field.harmless;
      has_changed |= accept(simpler);
    }
    return has_changed && !is_over();
  }

  // By halves and by tenths.
  bool shorten() {
    bool has_changed = false;
    for (const int64_t percent : {10, 50, 90}) {
      Configuration simpler = best_.configuration;
      simpler.duration = simpler.duration * percent / 100;
      if (simpler.duration > 1000 && accept(simpler)) has_changed = true;
    }
    return has_changed && !is_over();
  }

  const uint64_t seed_;
  const std::string property_;
  const std::chrono::steady_clock::time_point end_;
  Shrunken best_;
};

}  // namespace

Shrunken shrink(uint64_t seed, const Configuration& failing, const std::string& property, double seconds) {
  return Shrinker(seed, failing, property, seconds).run();
}

}  // namespace drover::simulation
