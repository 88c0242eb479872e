#include "image.h"

#include <algorithm>
#include <filesystem>

namespace drover::qemu {
namespace {

namespace fs = std::filesystem;

// Empty when it is not there.
fs::path real(const fs::path& path) {
  std::error_code none;
  return fs::canonical(path, none);
}

bool is_below(const fs::path& path, const fs::path& folder) {
  const fs::path way = path.lexically_relative(folder);
  return !folder.empty() && !way.empty() && *way.begin() != "..";
}

}  // namespace

Result<std::string> find_image(const std::string& image_path, const std::string& task_folder,
                               const std::string& alloc_folder, const std::vector<std::string>& allowed) {
  const fs::path wanted = fs::path(task_folder) / image_path;  // an absolute one stays what it is
  const auto may_lie_at = [&](const fs::path& path) {
    return is_below(path, real(alloc_folder)) ||
           std::ranges::any_of(allowed, [&](const std::string& folder) { return is_below(path, real(folder)); });
  };
  const fs::path found = real(wanted);
  if (!found.empty() && may_lie_at(found)) return found.string();
  // Says of files elsewhere not even whether they are there.
  std::error_code unknown;
  if (found.empty() && may_lie_at(fs::weakly_canonical(wanted, unknown)))
    return invalid_argument("image_path " + image_path + ": there is no such file");
  return invalid_argument("image_path is not in the allowed paths");
}

}  // namespace drover::qemu
