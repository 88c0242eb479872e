// Constraints of jobs on nodes: what a target names, and whether an operator holds. Pure. [any]
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace drover::v1 {
class Constraint;
class Node;
}  // namespace drover::v1

namespace drover {

// "${attr.kernel.name}" → the node's value, nothing when it has none; text without "${" stands for itself.
std::optional<std::string> resolve_target(std::string_view target, const v1::Node& node);

// True when the operator holds between two values; an absent value is nothing. Not for distinct_*.
bool compare_values(std::string_view operand, const std::optional<std::string>& left,
                    const std::optional<std::string>& right);

// Says what is wrong with the value on the right of an operator that reads it before it compares: a pattern,
// constraints on versions. Empty: nothing. The node fills in a value that holds "${", so it cannot be read before.
std::string problem_of_operand(std::string_view operand, const std::string& value);

bool meets_constraint(const v1::Constraint& constraint, const v1::Node& node);

// As people read it: "${attr.kernel.name} = linux".
std::string constraint_text(const v1::Constraint& constraint);

// Looks at what is unique to one machine, so that two nodes of a class may differ in it.
bool escapes_class(const v1::Constraint& constraint);

// `*` stands for any text.
bool glob_matches(std::string_view pattern, std::string_view text);

}  // namespace drover
