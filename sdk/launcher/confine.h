// Locks a child in (drover/confinement.h): the namespaces before and behind the fork, its root, and what rights it is
// left with. For single-threaded processes: behind the fork it takes memory.
//
//   prepare (parent) ──fork──▶ surround ──streams are open──▶ filter ──▶ user and groups ──▶ reduce ──▶ exec
#pragma once

#include <sys/types.h>

#include <optional>
#include <string>

#include "drover/confinement.h"
#include "drover/fd.h"

namespace drover::launcher {

// The step that went wrong, and its errno.
struct ConfineFailure {
  int error = 0;
  std::string step;
};
using Confined = std::optional<ConfineFailure>;  // empty: all went well

class Confiner {
 public:
  explicit Confiner(const Confinement& confinement) : confinement_(confinement) {}
  Confiner(const Confiner&) = delete;
  Confiner& operator=(const Confiner&) = delete;

  // In the parent. From a good end on its next child is in the pid namespace that it shall be in, until leave().
  Confined prepare();
  void leave();

  // In the child, one after the other. `user` is the one that it will be.
  Confined surround();
  Confined filter();
  Confined keep_over_user() const;  // before the user changes
  Confined reduce(uint32_t user) const;

 private:
  Confined open_joined();
  Confined join() const;
  Confined make() const;
  bool is_own(Confinement::Own one) const { return (confinement_.own & one) != 0; }

  const Confinement& confinement_;
  // Belongs to the process that is joined.
  Fd mounts_, processes_, ipc_, host_name_, cgroups_, root_;
  Fd own_processes_;  // the parent's own pid namespace, while its children go elsewhere
  uint64_t capabilities_ = 0;
};

// Makes the root and moves the calling process into it. Requires: its mount namespace is its own.
Confined enter_root(const Confinement::Root& root);

}  // namespace drover::launcher
