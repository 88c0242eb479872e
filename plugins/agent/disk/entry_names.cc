#include <algorithm>

#include "disk/disk_archive.h"

namespace drover::agent {
namespace {

std::vector<std::string> split(std::string_view path) {
  std::vector<std::string> parts;
  while (true) {
    const size_t end = std::min(path.find('/'), path.size());
    parts.emplace_back(path.substr(0, end));
    if (end == path.size()) return parts;
    path.remove_prefix(end + 1);
  }
}

// True when going these ways never leaves the folder that is `depth` above.
bool stays_below(size_t depth, const std::vector<std::string>& ways) {
  for (const std::string& way : ways) {
    if (way.empty() || way == ".") continue;
    if (way != "..") {
      ++depth;
    } else if (depth-- == 0) {
      return false;
    }
  }
  return true;
}

}  // namespace

Result<std::vector<std::string>> check_entry_name(std::string_view name, const std::vector<std::string>& tasks) {
  const auto wrong = [&](const char* what) {
    return invalid_argument("the entry \"" + std::string(name) + "\" of the snapshot " + what);
  };
  if (name.find('\0') != std::string_view::npos) return wrong("contains a null character");
  if (name.starts_with('/')) return wrong("is an absolute path");
  std::string_view relative = name;
  if (relative.ends_with('/')) relative.remove_suffix(1);  // a folder's
  std::vector<std::string> parts = split(relative);
  if (std::ranges::find(parts, "..") != parts.end()) return wrong("contains \"..\"");
  const bool is_plain = std::ranges::none_of(parts, [](const auto& part) { return part.empty() || part == "."; });
  const bool is_shared = parts.size() >= 2 && parts[0] == "alloc" && parts[1] == "data";
  const bool is_tasks = parts.size() >= 2 && parts[1] == "local" && std::ranges::find(tasks, parts[0]) != tasks.end();
  if (!is_plain || (!is_shared && !is_tasks)) return wrong("is no data of the allocation");
  return parts;
}

bool stays_in_allocation(const std::vector<std::string>& parts, std::string_view to) {
  std::vector<std::string> ways = split(to);
  if (!to.starts_with('/')) return stays_below(parts.size() - 1, ways);
  ways.erase(ways.begin());
  const bool is_seen = ways.front() == "alloc" || ways.front() == "local";
  ways.erase(ways.begin());
  return is_seen && stays_below(0, ways);
}

}  // namespace drover::agent
