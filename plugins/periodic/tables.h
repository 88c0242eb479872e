// The table of this plugin and what its log commands do to it. Deterministic. [apply]
#pragma once

#include "drover/plugin.h"
#include "drover/tables.h"

namespace drover::v1 {
class PeriodicLaunch;
}

namespace drover::periodic {

// By job_key. A job that was never launched has no row.
Result<Table<v1::PeriodicLaunch>> declare_tables(Declarations& declare);

}  // namespace drover::periodic
