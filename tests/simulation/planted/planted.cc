#include "tests/simulation/planted/planted.h"

#include "kernel/raft/core/reach.h"

namespace drover::raft {
namespace {

Bug current = Bug::none;
std::map<std::string, uint64_t> marks;

}  // namespace

void plant(Bug bug) { current = bug; }
bool planted(Bug bug) { return current == bug; }

std::string_view to_string(Bug bug) {
  switch (bug) {
    case Bug::none:
      return "none";
#define DROVER_BUG(name) \
  case Bug::name:        \
    return #name;
      DROVER_BUGS(DROVER_BUG)
#undef DROVER_BUG
  }
  return "unknown";
}

std::vector<Bug> all_bugs() {
  return {
#define DROVER_BUG(name) Bug::name,
      DROVER_BUGS(DROVER_BUG)
#undef DROVER_BUG
  };
}

void reach(const char* mark) { ++marks[mark]; }
const std::map<std::string, uint64_t>& reached() { return marks; }

}  // namespace drover::raft
