#include "disk/mounts.h"

#include <filesystem>
#include <fstream>
#include <iterator>

namespace drover::agent {
namespace {

bool is_at_or_below(const std::string& path, const std::string& folder) {
  return path == folder || path.starts_with(folder == "/" ? folder : folder + "/");
}

}  // namespace

Result<std::vector<MountPoint>> mounts_below(const std::string& folder) {
  std::ifstream file("/proc/self/mountinfo");
  const std::string text{std::istreambuf_iterator<char>(file), {}};
  if (text.empty()) return unavailable("cannot read /proc/self/mountinfo");
  std::error_code error;
  const std::string real = std::filesystem::weakly_canonical(folder, error);
  if (error) return errno_status(error.value(), "find " + folder);
  std::vector<MountPoint> mounts = parse_mountinfo(text);
  std::erase_if(mounts, [&](const MountPoint& mount) { return !is_at_or_below(mount.path, real); });
  return mounts;
}

}  // namespace drover::agent
