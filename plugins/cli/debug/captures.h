// The questions of `operator debug`, and the agents that it asks. Pure.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "drover/result.h"

namespace drover::cli {

struct Capture {
  std::string_view file;  // in the bundle: "jobs.json"
  std::string_view path;  // in the API: "/v1/jobs"
};

// Asked for once, and at each interval. Lists only: nothing among them holds a secret, or what a job's file says.
std::span<const Capture> cluster_captures();
std::span<const Capture> interval_captures();
// Profiles of each agent; the path is the name of one.
std::span<const Capture> profiles();

// An agent that is looked at.
struct Target {
  std::string id;    // a server's name; a node's identifier as text
  std::string name;  // of its folder
};

// The agents that the word means: "all", or names and beginnings of identifiers with commas between them; `most` of
// them at most, 0: all. Errors: not_found, naming the part that means none.
Result<std::vector<Target>> chosen(const std::vector<Target>& there, std::string_view word, size_t most);

// "drover-debug-2026-11-28-214500Z"
std::string bundle_name(int64_t wall_ns);

// How often everything is asked for: at once, and then after each interval while the duration lasts.
size_t rounds(std::chrono::nanoseconds duration, std::chrono::nanoseconds interval);

}  // namespace drover::cli
