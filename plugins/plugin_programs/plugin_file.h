// The file of a plugin's program as it was when it was checked: later launches run exactly that, whatever lies at its
// path by then. A value; any thread.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "drover/result.h"

namespace drover::plugin_programs {

class PluginFile {
 public:
  // Errors: not_found; permission_denied when others may change it; failed_precondition when it cannot be run, or is
  // none of `digests` (SHA-256 in hexadecimal; empty: any).
  static Result<std::shared_ptr<const PluginFile>> open(const std::string& path,
                                                        const std::vector<std::string>& digests);
  ~PluginFile();
  PluginFile(const PluginFile&) = delete;
  PluginFile& operator=(const PluginFile&) = delete;

  int image() const { return fd_; }  // for Program::image
  const std::string& path() const { return path_; }
  const std::string& digest() const { return digest_; }

  // Writes it to another path, with the same permissions. Errors: the system's, with the path.
  Status copy_to(const std::string& path) const;

 private:
  PluginFile(std::string path, int fd) : path_(std::move(path)), fd_(fd) {}

  const std::string path_;
  const int fd_;
  std::string digest_;
};

// Checks that the file at the path is safe to run as a plugin, without looking inside. Errors as PluginFile::open.
Status check_file(const std::string& path);

}  // namespace drover::plugin_programs
