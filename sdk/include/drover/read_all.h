// The text of a stream, to its end. [any]
#pragma once

#include <istream>
#include <sstream>
#include <string>

namespace drover {

// The text that can be read of it. Iterators over a stream's buffer throw where a file cannot be read although it could be opened:
// a folder, or what /proc says of a process that has ended meanwhile.
inline std::string read_all(std::istream& in) {
  std::ostringstream text;
  text << in.rdbuf();
  return std::move(text).str();
}

}  // namespace drover
