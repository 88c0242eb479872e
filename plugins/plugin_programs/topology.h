// This machine's processors as plugins are told of them: cores with their speeds, sockets, memory nodes and distances.
#pragma once

#include <string>

#include "nomad/plugins/base.pb.h"

namespace drover::plugin_programs {

// Read from `root`/sys and `root`/proc (root is empty but in tests). Leaves out what cannot be read; there is always
// one core and one memory node.
hashicorp::nomad::plugins::base::proto::ClientTopology read_topology(const std::string& root = {});

}  // namespace drover::plugin_programs
