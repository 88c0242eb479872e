// Checks what a sequential client may rely on, by the indexes that its answers name: cheaper than linearizability and
// sharper where values do not tell (a put of the same value twice). Pure.
#pragma once

#include <string>

#include "tests/simulation/check/history.h"

namespace drover::simulation {

// The first broken promise, or nothing:
//   monotonic        no answer of a client has a smaller index than an earlier one of it, on whatever server
//   read your writes a read is at or behind the client's last acknowledged write
//   once             every acknowledged write has an index of its own, and no appended text is seen twice in a value
//                    (texts appended to one key must differ, and none may be part of another)
// Operations without an index count for the last one only.
std::string check_sessions(const History& history);

}  // namespace drover::simulation
