// A mount namespace of the test's own, so that nothing that it mounts is seen elsewhere, or outlives it.
#pragma once

#include <sched.h>
#include <sys/mount.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <string>

namespace drover::testing {

// Gives this process one, once. Empty: it has it; else why it cannot, for GTEST_SKIP().
inline std::string take_own_mounts() {
  if (::geteuid() != 0) return "mounts need root";
  static const bool has_own =
      ::unshare(CLONE_NEWNS) == 0 && ::mount(nullptr, "/", nullptr, MS_REC | MS_PRIVATE, nullptr) == 0;
  static const std::string why =
      has_own ? "" : std::string("a mount namespace needs CAP_SYS_ADMIN: ") + std::strerror(errno);
  return why;
}

}  // namespace drover::testing
