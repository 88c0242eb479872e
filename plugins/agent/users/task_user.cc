#include "users/task_user.h"

#include "drover/dynamic_user.h"
#include "drover/launcher.h"

namespace drover::agent {

Result<TaskUser> task_user(const std::string& name) {
  if (const auto id = dynamic_user_id(name)) return TaskUser{.id = *id, .group = *id};
  DROVER_TRY(const Launcher::User found, find_user(name));
  return TaskUser{.id = found.id, .group = found.group};
}

}  // namespace drover::agent
