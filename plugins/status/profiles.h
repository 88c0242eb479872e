// Texts about the agent, as far as a C++ program has something of the kind: its command line, its threads, its
// allocator. What it has not is refused, with the tool that shows it. cpu/ holds the profile of the processor.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "drover/result.h"

namespace drover::status {

struct ThreadState {
  std::string name;
  char state = '?';   // as in ps: R, S, D, …
  std::string waits;  // the kernel's function in which it waits; empty: in none, or it is not said
};
// How many there are of each kind, the most first. Pure.
std::string threads_text(const std::vector<ThreadState>& threads);

// A thread's line in /proc/…/stat. Pure.
char state_in(std::string_view stat);

// True when the agent's configuration, as /v1/agent/self shows it, lets profiles be taken. Pure.
bool may_debug(const std::string& configuration);

// `debug`: 1 and 2 ask for a text. Errors: not_found for a name that pprof does not have; unimplemented.
Result<std::string> take_profile(const std::string& name, int64_t debug);

}  // namespace drover::status
