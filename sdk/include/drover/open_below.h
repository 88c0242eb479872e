// Opens what lies below a folder, by rules that no link and no rename gets around. Needs nothing but the system: the
// launcher uses it, too.
#pragma once

#include <fcntl.h>
#include <linux/openat2.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cstdint>
#include <string>

#include "drover/fd.h"

namespace drover {

// `flags`: of open(2); the descriptor is closed in other programs. `resolve`: RESOLVE_BENEATH, RESOLVE_IN_ROOT, … of
// openat2(2); 0 holds nothing back. Invalid: errno says why. [any]
inline Fd open_below(const Fd& folder, const std::string& path, int flags, uint64_t resolve) {
  open_how how{};
  how.flags = static_cast<uint64_t>(flags | O_CLOEXEC);
  how.resolve = resolve;
  return Fd(static_cast<int>(::syscall(SYS_openat2, folder.get(), path.c_str(), &how, sizeof how)));
}

}  // namespace drover
