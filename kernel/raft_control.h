// The consensus room as plugins see it: drover::RaftControl over raft::Consensus.
#pragma once

#include <chrono>
#include <memory>

#include "drover/metrics.h"
#include "drover/raft.h"
#include "kernel/raft/raft.h"

namespace drover {

// `consensus` must outlive it.
std::unique_ptr<RaftControl> make_raft_control(raft::Consensus& consensus);
RaftInfo describe(const raft::Consensus& consensus);

// As gauges `nomad.raft.…`. Those that have a name of Nomad's are set by the plugin autopilot.
void report_raft(Metrics& metrics, const raft::Consensus& consensus);
// Since the machine was started. [any]
std::chrono::nanoseconds time_suspended();

}  // namespace drover
