// Makes the configuration of a failing run simpler as long as the same property breaks: without fault kinds, with fewer
// clients, servers and less time.
#pragma once

#include <functional>
#include <string>

#include "tests/simulation/configuration.h"

namespace drover::simulation {

struct Shrunken {
  Configuration configuration;
  int runs = 0;
};

// Ends after `seconds`, or when nothing can be left out any more.
Shrunken shrink(uint64_t seed, const Configuration& failing, const std::string& property, double seconds);

}  // namespace drover::simulation
