// How a path that a caller says leads to a file of an allocation, and to nothing else. Pure. [any]
//
// Paths are relative to the allocation's folder, with or without a slash in front. A link is followed when it ends
// below that folder: a relative one, or one that names the folder as this machine does.
#pragma once

#include <cstddef>
#include <deque>
#include <string>
#include <string_view>
#include <vector>

#include "drover/result.h"

namespace drover::agent {

inline constexpr size_t kLongestPath = 4096;  // bytes, as the system's
inline constexpr size_t kLongestName = 255;

// The names on the way; none for the allocation's folder. "." stands for nothing and ".." takes back the name before
// it. Errors: invalid_argument for a zero byte, and for what is too long; escapes().
Result<std::vector<std::string>> path_parts(std::string_view said);

// "Path escapes the alloc directory": status 500 of the HTTP API.
Status escapes();

// True for the folder of a task's secrets and for all that it holds. `resolved`: without links, "web/secrets/token".
bool is_secret(std::string_view resolved);

std::string joined(const std::vector<std::string>& parts);

// The path as a text for people: one line, not too long; and in quotes.
std::string shown(std::string_view said);
std::string in_quotes(std::string_view said);

// A path on its way through links. The caller looks what stands at next(), and says so.
class PathWalk {
 public:
  // `roots`: the allocation's folder as links on this machine may name it; absolute.
  PathWalk(const std::vector<std::string>& parts, std::vector<std::string> roots);

  bool is_done() const { return left_.empty(); }
  // Requires: !is_done().
  std::string next() const;
  // It is no link. Errors: escapes(), when what follows leads out.
  Status enter();
  // It is one, with this target. Errors: escapes(); invalid_argument when there are too many.
  Status follow(std::string_view target);
  // The way so far, without links; empty for the allocation's folder.
  std::string resolved() const;

 private:
  Status skip_dots();

  const std::vector<std::string> roots_;
  std::vector<std::string> done_;
  std::deque<std::string> left_;
  size_t links_ = 0;
};

}  // namespace drover::agent
