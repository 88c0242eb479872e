// The consensus room as plugins see it: drover::RaftControl over raft::Consensus.
#pragma once

#include <memory>

#include "drover/raft.h"
#include "kernel/raft/raft.h"

namespace drover {

// `consensus` must outlive it.
std::unique_ptr<RaftControl> make_raft_control(raft::Consensus& consensus);
RaftInfo describe(const raft::Consensus& consensus);

}  // namespace drover
