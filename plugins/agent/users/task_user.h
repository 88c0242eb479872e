// The user of a task as this machine knows it. [any]
#pragma once

#include <sys/types.h>

#include <string>

#include "drover/result.h"

namespace drover::agent {

struct TaskUser {
  uid_t id = 0;
  gid_t group = 0;
};

// By a name or a number of the machine's, or by the name that this node made up (drover/dynamic_user.h).
// Errors: invalid_argument when the machine knows no such user.
Result<TaskUser> task_user(const std::string& name);

}  // namespace drover::agent
