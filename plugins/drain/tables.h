// The tables that drains read, and what the log's command does. Deterministic. [apply]
#pragma once

#include "drover/plugin.h"
#include "drover/tables.h"

namespace drover::drain {

struct Tables {
  TableId nodes, allocs, jobs;  // of the plugins nodes, scheduler and jobs
};

// Finds the tables and declares the command. Errors: as Declarations::other_table().
Status declare_tables(Declarations& declare, Tables& tables);

}  // namespace drover::drain
