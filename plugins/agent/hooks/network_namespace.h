// A network namespace that lives as long as its file under /run/netns, as `ip netns` keeps them: empty, not even the
// loopback device is up. Root only. [any]
#pragma once

#include <string>

#include "drover/result.h"
#include "drover/uuid.h"

namespace drover::agent {

// Makes the one of this name, or finds it; returns its path. Errors: permission_denied without the rights.
Result<std::string> make_network_namespace(Uuid name);
// Processes inside keep it until they end. Also removes one that is gone.
Status remove_network_namespace(const std::string& path);

}  // namespace drover::agent
