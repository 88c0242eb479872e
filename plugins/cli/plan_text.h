// A plan as people read it. Pure.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>

namespace drover::cli {

// The difference, a line each: "+" came, "-" went, "+/-" changed. Jobs, groups and tasks that are new or gone are named
// only, unless `is_verbose`.
std::string diff_text(const nlohmann::json& diff, bool is_verbose);

// Whether the plan creates or destroys allocations.
bool changes_allocations(const nlohmann::json& plan);

}  // namespace drover::cli
