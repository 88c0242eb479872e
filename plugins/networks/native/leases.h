// Which addresses and ports allocations on the native bridge get. Pure.
#pragma once

#include <map>
#include <set>
#include <string>
#include <vector>

#include "attachment.h"

namespace drover::networks {

using Leases = std::map<std::string, StoredLease>;  // by allocation

// The next number above `last`, around the end, that is not taken; 1 is the bridge's. Errors: resource_exhausted.
Result<uint32_t> free_number(const std::set<uint32_t>& taken, uint32_t last, uint32_t hosts);

// Two that listen on one port of the machine: the second would hear nothing. Errors: failed_precondition.
Status check_ports(const Leases& leases, const Wanted& wanted);

}  // namespace drover::networks
