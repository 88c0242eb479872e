// node identity get, node identity renew, node intro create.
#pragma once

#include <vector>

#include "cli_command.h"

namespace drover::cli {

std::vector<Definition> node_identity_commands();

}  // namespace drover::cli
