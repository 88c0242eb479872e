// The packet filter's rules for allocations on the native bridge, as a script of nftables. Pure.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "config.h"

#include "networks_state.pb.h"

namespace drover::networks {

// "drover_nomad": of the bridge's name.
std::string table_name(const Config& config);
// Replaces all rules of the bridge at once: what is mapped into allocations, and what is masqueraded on its way out.
std::string rules_script(const Config& config, const std::vector<StoredLease>& leases);

// Other tables may drop what passes through this machine, as Docker's do. The rule that lets the bridge's packets pass
// the chain FORWARD of iptables; `family`: "ip" or "ip6".
std::string admission_script(const Config& config, const std::string& family);
// True when that rule is in the chain as `nft list chain` prints it.
bool is_admitted(const Config& config, std::string_view printed);

}  // namespace drover::networks
