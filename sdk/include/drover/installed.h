// Programs that are installed with drover and that nobody calls by hand. [any]
#pragma once

#include <string>
#include <string_view>

namespace drover {

// The path of lib/drover/NAME, beside the SDK's libraries. A plugin inside the agent that carries this code itself gets
// the agent's. Whether the program is there is not looked at.
std::string installed_program(std::string_view name);

}  // namespace drover
