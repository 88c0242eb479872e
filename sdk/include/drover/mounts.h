// The mounts of a process, as the kernel lists them in /proc/self/mountinfo. Pure.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace drover {

struct MountPoint {
  std::string path;     // absolute, without links
  std::string type;     // "tmpfs"
  std::string source;   // as whoever mounted it named it
  std::string options;  // of the file system: "rw,memory"
};

// A path or name as /proc/mounts and mountinfo write it: "\040" is a space.
std::string unescape_mount(std::string_view text);

// In the order in which they were mounted. Lines that cannot be read are left out.
std::vector<MountPoint> parse_mountinfo(std::string_view text);

}  // namespace drover
