// The PATH of this process as a test wants it, until the object goes.
#pragma once

#include <cstdlib>
#include <string>

namespace drover {

class SearchPath {
 public:
  explicit SearchPath(const std::string& path) {
    const char* const now = std::getenv("PATH");
    before_ = now ? now : "";
    ::setenv("PATH", path.c_str(), 1);
  }
  ~SearchPath() { ::setenv("PATH", before_.c_str(), 1); }
  SearchPath(const SearchPath&) = delete;
  SearchPath& operator=(const SearchPath&) = delete;

  // With `folder` before all others.
  static std::string with(const std::string& folder) {
    const char* const now = std::getenv("PATH");
    return folder + ":" + (now ? now : "");
  }

 private:
  std::string before_;
};

}  // namespace drover
