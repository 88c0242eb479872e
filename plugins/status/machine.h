// The machine under an agent, described for people who look for the cause of a fault.
#pragma once

#include <string>
#include <string_view>

namespace drover::v1 {
class HostData;
}

namespace drover::status {

// Secrets by their names, and addresses that hold a password, are blanked. Pure.
std::string shown_variable(std::string_view name, std::string_view value);

// True when whoever may ask is known, or the agent lets everybody look: by its configuration, as /v1/agent/self shows it.
// Pure.
bool may_show_machine(const std::string& configuration);

// As it is now. What cannot be read is empty.
v1::HostData describe_machine(const char* const* environment);

}  // namespace drover::status
