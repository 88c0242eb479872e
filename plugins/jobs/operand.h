// Values that an operator of a constraint has to read before it can compare anything. Pure.
#pragma once

#include <string>
#include <string_view>

namespace drover::jobs {

// What is wrong with the value, or empty. What holds "${" is filled in by the node and cannot be read before.
std::string problem_of_operand(std::string_view operand, const std::string& value);

}  // namespace drover::jobs
