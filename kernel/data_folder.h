// The agent's folders on disk. [main]
#pragma once

#include <sys/types.h>

#include <string>

#include "drover/result.h"

namespace drover {

// A folder of dev mode: made at start, removed with everything in it at the end.
class TemporaryFolder {
 public:
  static Result<std::string> make();
  ~TemporaryFolder();
  std::string path;
};

// Makes the folder if it is absent. Folders that only the agent reads are private to it; tasks of other users must be
// able to walk through the data folder to theirs. Errors: the disk's; when it is no folder, or cannot be written.
Status make_folder(const std::string& path, mode_t mode);

// Writes the data folder's format, or compares it, so that an older drover does not misread what a newer one wrote.
// Errors: failed_precondition for another format; the disk's.
Status check_format(const std::string& data_dir);

}  // namespace drover
