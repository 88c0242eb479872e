// A plan as people read it. Pure.
#pragma once

#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <string>

namespace drover::cli {

// The difference, a line each: "+" came, "-" went, "+/-" changed. Jobs, groups and tasks that are new or gone are named
// only, unless `is_verbose`.
std::string diff_text(const nlohmann::json& diff, bool is_verbose);

// What follows "Scheduler dry-run:", of the plan's whole answer. `now`: nanoseconds since 1970.
std::string dry_run_text(const nlohmann::json& plan, const nlohmann::json& job, int64_t now);

// Whether the plan creates or destroys allocations.
bool changes_allocations(const nlohmann::json& plan);

}  // namespace drover::cli
