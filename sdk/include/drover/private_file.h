// Small files with secrets on this machine's disk. [any thread that may wait]
#pragma once

#include <string>
#include <string_view>

#include "drover/result.h"

namespace drover {

// Writes a file that only its user may read: beside its place, synced, moved, and the folder synced. The former content
// is there until the new one is whole. One writer of a path at a time. Errors: with the path.
Status write_private_file(const std::string& path, std::string_view content);
// Afterwards the names of the folder's files are on the disk as they are now. Errors: with the folder.
Status sync_folder(const std::string& folder);

}  // namespace drover
