// Lists what a decision does with each allocation, so that two decisions can be compared. Pure.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "deciding/decide.h"

namespace drover::v1 {
class PlannedChange;
}

namespace drover::scheduler {

// Identifiers that follow from the evaluation's alone: the same decision twice makes the same ones, and with them the
// same ports.
std::function<std::string()> ids_after(std::string eval_id);

// In the order of group, name, action and node. `allocs`: of the job. `cluster`: knows the names of nodes.
std::vector<v1::PlannedChange> planned_changes(const Decision& decision, std::span<const v1::Allocation> allocs,
                                               const Cluster& cluster);

// The changes that are in one list only, as sentences; empty when the lists are the same.
std::vector<std::string> differences(std::span<const v1::PlannedChange> planned,
                                     std::span<const v1::PlannedChange> now);

}  // namespace drover::scheduler
