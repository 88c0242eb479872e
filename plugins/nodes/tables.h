// The node table and what the log's commands do to it. Deterministic. [apply]
#pragma once

#include "drover/plugin.h"
#include "drover/tables.h"

namespace drover::v1 {
class Node;
}

namespace drover::nodes {

Status declare_tables(Declarations& declare, Table<v1::Node>& nodes);

}  // namespace drover::nodes
