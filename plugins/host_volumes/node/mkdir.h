// The built-in plugin: a volume is a folder named by its identifier. [any]
#pragma once

#include <sys/types.h>

#include <string>

#include "node/program.h"

namespace drover::host_volumes {

inline constexpr const char* kMkdir = "mkdir";
inline constexpr const char* kMkdirVersion = "0.0.1";

struct FolderRights {
  mode_t mode = 0700;
  // Not set: the agent's.
  uid_t uid = static_cast<uid_t>(-1);
  gid_t gid = static_cast<gid_t>(-1);
};
// By the parameters mode (octal), uid and gid. Errors: invalid_argument, naming one. Pure.
Result<FolderRights> rights_of(const StoredVolume& volume);

// `folder`: of all volumes; absolute. A folder that is there stays as it is. Errors: those of rights_of();
// failed_precondition with the system's words.
Result<MadeVolume> make_folder(const std::string& folder, const StoredVolume& volume);
// With all that is in it; links are not followed. None is no error.
Status erase_folder(const std::string& folder, const StoredVolume& volume);

}  // namespace drover::host_volumes
