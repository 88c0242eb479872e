// Ranges of addresses and of ports, as the configuration writes them. Pure.
#pragma once

#include <string_view>

#include "drover/result.h"

namespace drover::agent {

// Errors: invalid_argument with the reason.
Status check_cidr(std::string_view cidr);
// "22,80,8500-8600". Errors: invalid_argument with the reason.
Status check_ports(std::string_view ports);

// True for "10.1.2.3" in "10.0.0.0/8". Requires: the cidr was checked.
bool is_in_cidr(std::string_view address, std::string_view cidr);

}  // namespace drover::agent
