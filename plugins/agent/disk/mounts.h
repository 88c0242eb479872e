// The machine's mounts below a folder, as the kernel lists them. [any]
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "drover/result.h"

namespace drover::agent {

struct MountPoint {
  std::string path;    // absolute, without links
  std::string type;    // "tmpfs"
  std::string source;  // as whoever mounted it named it
};

// A path or name as /proc/mounts and mountinfo write it: "\040" is a space. Pure.
std::string unescape_mount(std::string_view text);

// From the lines of /proc/self/mountinfo, in the order in which they were mounted. Lines that cannot be read are left
// out. Pure.
std::vector<MountPoint> parse_mountinfo(std::string_view text);

// Those of this machine at `folder` and below, links in its name followed. Errors: unavailable when the kernel's list
// cannot be read.
Result<std::vector<MountPoint>> mounts_below(const std::string& folder);

}  // namespace drover::agent
