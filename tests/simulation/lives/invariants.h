// Laws that hold after every commit of a life, whatever happens: functions of the rows alone. Each returns a sentence
// for each thing that is wrong. `now`: nanoseconds since 1970.
#pragma once

#include <string>
#include <vector>

#include "rows.h"

namespace drover::lives {

using Problems = std::vector<std::string>;

Problems broken_invariants(const Rows& rows, const Commit& commit, int64_t now);

// The work that is left although faults have stopped and time has passed: empty when all has come to rest.
Problems unfinished(const Rows& rows);

// "job0.app[2] 1a2b3c4d": an allocation as sentences name it.
std::string named(const v1::Allocation& alloc);

}  // namespace drover::lives
