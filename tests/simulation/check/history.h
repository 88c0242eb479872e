// The clients' operations and answers, as the checkers read them: simulated clients make them in memory, drivers of
// real clusters write them to a text file (tests/simulation/README.md is its description).
#pragma once

#include <cstdint>
#include <iosfwd>
#include <limits>
#include <string>
#include <string_view>
#include <vector>

#include "drover/result.h"

namespace drover::simulation {

// One register a key, empty at first.
enum class Kind : uint8_t {
  put,     // value := first
  cas,     // value := second if it is first; the answer says whether it was
  append,  // value := value + first
  read,    // the answer is the value
};
std::string_view to_string(Kind kind);

struct Operation {
  static constexpr int64_t kOpen = std::numeric_limits<int64_t>::max();

  int client = 0;
  Kind kind = Kind::read;
  std::string key{};
  std::string first{};       // put, append: the value; cas: what is expected
  std::string second{};      // cas: the new value
  int64_t invoked = 0;       // on one clock for all clients
  int64_t returned = kOpen;  // kOpen: nobody knows whether and when it happened
  uint64_t index = 0;        // of the log entry, or that the read was served at; 0: not known
  std::string value{};       // read: what was read
  bool did_match = false;    // cas

  bool is_open() const { return returned == kOpen; }
};

// Operations that were refused (and so certainly never happened) are not in it.
using History = std::vector<Operation>;

std::string describe(const Operation& operation);

// Errors: invalid_argument with the line.
Result<History> read_history(std::istream& in);
void write_history(const History& history, std::ostream& out);

}  // namespace drover::simulation
