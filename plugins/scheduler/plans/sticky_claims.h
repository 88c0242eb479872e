// Which host volumes the new allocations of a plan shall have again: their groups say `sticky`.
#pragma once

#include "drover/tables.h"
#include "tables.h"

namespace drover::v1 {
class HostVolumesClaimed;
class PlanApplied;
}  // namespace drover::v1

namespace drover::scheduler {

// For the proposer: the claims have new identifiers. Nothing is read where the cluster keeps no host volumes.
v1::HostVolumesClaimed sticky_claims_of(const v1::PlanApplied& command, const ReadView& view, const Tables& tables);

}  // namespace drover::scheduler
