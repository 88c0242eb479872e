// Samples of where this program spends its processor time: every ten milliseconds of it a signal interrupts the thread
// that runs, which notes the calls that it is in. Costs nothing while nobody samples.
#pragma once

#include <chrono>
#include <cstdint>
#include <map>
#include <stop_token>
#include <vector>

#include "drover/result.h"

namespace drover::status {

inline constexpr std::chrono::milliseconds kSamplePeriod{10};  // of processor time, all threads together

// Addresses of code, the innermost call first; those of callers lie inside of the call.
using Stack = std::vector<uint64_t>;

struct CpuSamples {
  std::map<Stack, int64_t> stacks;  // how often each was met
  int64_t lost = 0;                 // samples for which there was no room, or no stack
  std::chrono::nanoseconds duration{};
};

// Blocks until the time is over or a stop is requested, and returns what was seen until then. [any thread]
// Errors: resource_exhausted while somebody samples already; of the kernel.
Result<CpuSamples> sample_cpu(std::chrono::nanoseconds time, const std::stop_token& stop);

}  // namespace drover::status
