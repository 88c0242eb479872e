// The file system of a task whose driver locks it into its folder: the machine's folders that `client { chroot_env }`
// names, as hard links, or as copies where a link cannot be.
#pragma once

#include <set>
#include <stop_token>
#include <string>
#include <vector>

#include "drover/result.h"
#include "drover/task_environment.h"

namespace drover::agent {

// Fills `root` from `entries`: a path of the machine, and its place below `root`. Leaves out paths that are not on this
// machine or are neither a folder, a file nor a symbolic link; keeps what lies there already.
// Folders of `skip` are not entered. Requires: nobody else has written below `root`, whose links would be
// followed. Errors: invalid_argument for a target outside of `root`; cancelled. [any]
Status build_chroot(const std::string& root, const Variables& entries, const std::set<std::string>& skip,
                    const std::stop_token& stop);

// How the machine's paths come into the root of a task.
struct ChrootPlan {
  Variables linked{};  // laid there by build_chroot()
  Variables shown{};   // the machine's path and its place: for the driver to show, read-only
};
// `can_show`: the driver takes mounts. Everything is linked when it does not, and when places lie in each other; so is
// what holds a folder of `skip`, or lies in one. Paths that are not on this machine are left out of what is shown. [any]
ChrootPlan plan_chroot(const Variables& entries, const std::set<std::string>& skip, bool can_show);

// The places of `entries` that `root` holds, as the task sees them: "/usr". Requires: build_chroot() has filled it.
std::vector<std::string> filled_paths(const std::string& root, const Variables& entries);

}  // namespace drover::agent
