// The texts that limit a control group, and the files that they are written into. Pure.
#pragma once

#include <string>
#include <vector>

#include "drover/cgroup.h"

namespace drover {

struct CgroupWrite {
  std::string controller;
  std::string file;
  std::string text;
  bool is_optional = false;  // not every kernel has the file

  friend bool operator==(const CgroupWrite&, const CgroupWrite&) = default;
};

enum class CgroupVersion : uint8_t { v1, v2 };

// In the order in which they are written. Devices of version 2 are not among them: those take a program.
std::vector<CgroupWrite> cgroup_writes(const CgroupLimits& limits, CgroupVersion version);

// Errors: invalid_argument for a number that no kernel takes.
Status check_limits(const CgroupLimits& limits);

}  // namespace drover
