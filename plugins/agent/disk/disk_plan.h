// Where the data of a new allocation comes from, and for whom it waits. Pure.
#pragma once

#include <functional>
#include <string_view>
#include <vector>

#include "drover/hook.h"
#include "drover/uuid.h"

namespace drover::agent {

struct DiskPlan {
  enum class From : uint8_t { nothing, neighbour, other_node };
  std::vector<Uuid> awaited;  // on this node: its predecessor, and those that gave their room to it
  From from = From::nothing;
  Uuid previous;  // unless it comes from nothing
};
// `is_here`: this node has the allocation.
DiskPlan plan_disk(const AllocSpec& spec, const std::function<bool(const Uuid&)>& is_here);

// How much of another node's data is taken: twice the size that the group asks for, and what names and headers need.
uint64_t most_migrated_bytes(const AllocSpec& spec);

}  // namespace drover::agent
