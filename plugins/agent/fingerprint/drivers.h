// Puts into the node's description what the task drivers of this agent say of themselves.
#pragma once

#include "client_config.h"
#include "drover/plugin.h"

namespace drover::v1 {
class Node;
}

namespace drover::agent {

// Replaces `node`'s drivers and their attributes ("driver.<name>"). True when something but the time has changed.
bool describe_drivers(Host& host, const ClientConfig& config, v1::Node& node);

}  // namespace drover::agent
