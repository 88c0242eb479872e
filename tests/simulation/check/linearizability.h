// Decides whether a history of registers could have come from one server that does one thing at a time: Wing and Gong's
// search for an order, with Lowe's memory of what has been tried (set of done operations, value). Each key is searched
// alone, which is sound because linearizability is local. Pure and deterministic.
#pragma once

#include <cstdint>
#include <string>

#include "tests/simulation/check/history.h"

namespace drover::simulation {

enum class Verdict : uint8_t {
  good,
  bad,
  unknown,  // the search was given up: never to be taken for good
};
std::string_view to_string(Verdict verdict);

struct Judgement {
  Verdict verdict = Verdict::good;
  std::string why{};  // bad, unknown: the key and the operation at which no order was found
};

// Gives up after `max_steps` attempts to place an operation, summed over the keys (about 10 million a second).
Judgement check_linearizability(const History& history, uint64_t max_steps = 20'000'000);

}  // namespace drover::simulation
