// One constraint and one node: what a target names, and whether the operator holds. Pure.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "drover/v1/job.pb.h"
#include "drover/v1/node.pb.h"

namespace drover::scheduler {

// "${attr.kernel.name}" → the node's value, nothing when it has none; text without "${" stands for itself.
std::optional<std::string> resolve_target(std::string_view target, const v1::Node& node);

// Whether the operator holds between two values; a value that is absent is nothing. Not for distinct_*.
bool compare_values(std::string_view operand, const std::optional<std::string>& left,
                    const std::optional<std::string>& right);

bool meets_constraint(const v1::Constraint& constraint, const v1::Node& node);

// As people read it: "${attr.kernel.name} = linux".
std::string to_text(const v1::Constraint& constraint);

// Looks at what is unique to one machine, so that two nodes of a class may differ in it.
bool escapes_class(const v1::Constraint& constraint);

// `*` stands for any text.
bool glob_matches(std::string_view pattern, std::string_view text);

}  // namespace drover::scheduler
