// Where volumes can be reached from. Pure. [any]
#pragma once

#include "drover/result.h"

namespace csi::v1 {
class Topology;
class TopologyRequirement;
}  // namespace csi::v1

namespace drover::hostpath {

struct Settings;

// True when all segments of the place hold here. Keys in any case.
bool is_here(const Settings& settings, const csi::v1::Topology& place);
// Errors: invalid_argument when the plugin knows no places; resource_exhausted when none that is wanted is this one.
Status check_place(const Settings& settings, const csi::v1::TopologyRequirement& wanted);

}  // namespace drover::hostpath
