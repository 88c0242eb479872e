// For each check a fault that it must find.
#pragma once

#include <map>
#include <string>
#include <string_view>

#include "faulty_subject.h"

namespace drover::csi_kit {

using Faults = std::map<std::string_view, Fault>;

Faults controller_faults();
Faults snapshot_faults();
// `folder`: the kit's own, of the check that the fault is for.
Faults node_faults(const std::string& folder);
Faults error_faults();

}  // namespace drover::csi_kit
