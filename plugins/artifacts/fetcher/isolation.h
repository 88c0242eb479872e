// What a download cannot do: this process and all that it starts from now on.
#pragma once

#include <string>
#include <vector>

#include "drover/result.h"

namespace drover::artifacts {

// Gives all capabilities away for ever, and on kernels with Landlock the sight of every file but programs, libraries,
// certificates and the names of hosts and users; `writable` folders may be read and written. Errors: unavailable when
// the kernel refuses.
Status isolate(const std::vector<std::string>& writable);

}  // namespace drover::artifacts
