// The table of deployments and what the log's commands do to it. Deterministic. [apply]
#pragma once

#include <string>

#include "drover/plugin.h"
#include "drover/tables.h"

namespace drover::v1 {
class Deployment;
}

namespace drover::deployments {

struct Tables {
  Table<v1::Deployment> deployments;
  TableId jobs, job_versions;  // of the plugin jobs
  TableId allocs, evals;       // of the plugin scheduler
};

Status declare_tables(Declarations& declare, Tables& tables);

}  // namespace drover::deployments
