#include "supervisor/closed_folder.h"

#include <sys/stat.h>

#include <filesystem>

namespace drover::mounts {

Status make_closed_folder(const std::string& path) {
  std::error_code error;
  std::filesystem::create_directories(path, error);
  if (error) return errno_status(error.value(), "create " + path);
  return ::chmod(path.c_str(), 0700) == 0 ? ok_status() : errno_status(errno, "chmod " + path);
}

}  // namespace drover::mounts
