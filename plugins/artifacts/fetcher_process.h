// A run of the program drover-fetch. [any]
#pragma once

#include <chrono>
#include <stop_token>
#include <string>
#include <vector>

#include "drover/result.h"

namespace drover::artifacts {

struct FetcherRun {
  std::string program;
  std::string request;                   // JSON, for its standard input
  int folder = -1;                       // where it stands; stays the caller's
  std::vector<std::string> environment;  // "NAME=value"
  std::chrono::nanoseconds time{};       // after which it is killed
};
// Waits for the answer. What it started is killed with it. Errors: those of the answer; unavailable when there is none;
// deadline_exceeded; cancelled when `stop` was requested.
Status run_fetcher(const FetcherRun& run, const std::stop_token& stop);

}  // namespace drover::artifacts
