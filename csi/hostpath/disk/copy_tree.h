// Copies a file, or a folder with all that is in it: owners, rights, times, extended attributes, links, holes. Shares
// blocks where the file system can. Never follows a link. [any]
#pragma once

#include <string>

#include "drover/result.h"

namespace drover::hostpath {

// `to` does not exist yet. What changes meanwhile is copied as it is met. Errors: with the name; `to` is incomplete
// then.
Status copy_tree(const std::string& from, const std::string& to);

}  // namespace drover::hostpath
