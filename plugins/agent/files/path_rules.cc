#include "files/path_rules.h"

#include <algorithm>
#include <optional>

#include "drover/printable.h"

namespace drover::agent {
namespace {

constexpr size_t kMostLinks = 40;  // as the system's
constexpr size_t kLongestShown = 120;

std::vector<std::string> split(std::string_view path) {
  std::vector<std::string> parts;
  while (!path.empty()) {
    const std::string_view part = path.substr(0, path.find('/'));
    path.remove_prefix(std::min(path.size(), part.size() + 1));
    if (!part.empty() && part != ".") parts.emplace_back(part);
  }
  return parts;
}

// The path below `root`, or nothing when it is elsewhere.
std::optional<std::string_view> below(std::string_view path, std::string_view root) {
  if (root.empty() || !path.starts_with(root)) return std::nullopt;
  path.remove_prefix(root.size());
  if (!path.empty() && path.front() != '/') return std::nullopt;
  return path;
}

}  // namespace

std::string joined(const std::vector<std::string>& parts) {
  std::string path;
  for (const std::string& part : parts) path += (path.empty() ? "" : "/") + part;
  return path;
}

Status escapes() { return failed_precondition("Path escapes the alloc directory"); }

std::string shown(std::string_view said) {
  return printable(said.substr(0, kLongestShown)) + (said.size() > kLongestShown ? "…" : "");
}

std::string in_quotes(std::string_view said) { return "\"" + shown(said) + "\""; }

Result<std::vector<std::string>> path_parts(std::string_view said) {
  if (said.size() > kLongestPath)
    return invalid_argument("the path is longer than " + std::to_string(kLongestPath) + " bytes: " + in_quotes(said));
  if (said.find('\0') != std::string_view::npos)
    return invalid_argument("the path has a zero byte: " + in_quotes(said));
  std::vector<std::string> parts;
  for (std::string& part : split(said)) {
    if (part.size() > kLongestName)
      return invalid_argument("a name of the path is longer than " + std::to_string(kLongestName) +
                              " bytes: " + in_quotes(part));
    if (part != "..") {
      parts.push_back(std::move(part));
      continue;
    }
    if (parts.empty()) return escapes();
    parts.pop_back();
  }
  return parts;
}

bool is_secret(std::string_view resolved) {
  const std::vector<std::string> parts = split(resolved);
  return parts.size() >= 2 && parts[0] != "alloc" && parts[1] == "secrets";
}

PathWalk::PathWalk(const std::vector<std::string>& parts, std::vector<std::string> roots)
    : roots_(std::move(roots)), left_(parts.begin(), parts.end()) {}

std::string PathWalk::next() const {
  const std::string before = resolved();
  return before.empty() ? left_.front() : before + "/" + left_.front();
}

Status PathWalk::enter() {
  done_.push_back(std::move(left_.front()));
  left_.pop_front();
  return skip_dots();
}

Status PathWalk::follow(std::string_view target) {
  if (++links_ > kMostLinks) return invalid_argument("too many levels of symbolic links");
  if (target.starts_with('/')) {
    std::optional<std::string_view> inside;
    for (const std::string& root : roots_) {
      if (!inside) inside = below(target, root);
    }
    if (!inside) return escapes();
    target = *inside;
    done_.clear();
  }
  left_.pop_front();
  const std::vector<std::string> parts = split(target);
  left_.insert(left_.begin(), parts.begin(), parts.end());
  return skip_dots();
}

// The names before a ".." hold no link any more, so that it takes back the last of them.
Status PathWalk::skip_dots() {
  while (!left_.empty() && left_.front() == "..") {
    if (done_.empty()) return escapes();
    done_.pop_back();
    left_.pop_front();
  }
  return ok_status();
}

std::string PathWalk::resolved() const { return joined(done_); }

}  // namespace drover::agent
