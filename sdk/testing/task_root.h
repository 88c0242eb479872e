// A root for tasks of a driver that locks them into their folder (capability CHROOT), as its host would lay it: a few
// programs of this machine with the libraries that they need, and the users root and nobody.
#pragma once

#include <string>
#include <vector>

#include "drover/result.h"

namespace drover {

// `programs`: names, looked for in /bin and /usr/bin, or absolute paths; each lies in `folder`/bin then. A name that
// this machine lacks is left out. What lies there already stays.
Status make_task_root(const std::string& folder, const std::vector<std::string>& programs);
// A file of this machine at its own path in the root.
Status lay_in_root(const std::string& folder, const std::string& file);

}  // namespace drover
