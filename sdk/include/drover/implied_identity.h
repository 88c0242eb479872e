// Identities that tasks have although their job names none: by what the tasks use, and what the servers' configuration
// says. They are added when a job is registered, and stand in it as if its author had written them.
#pragma once

#include <optional>
#include <string_view>

namespace drover::v1 {
class Identity;
class Task;
class TaskGroup;
}  // namespace drover::v1

namespace drover {

// Any number of plugins extend it, on servers. [any]
class ImpliedIdentity {
 public:
  static constexpr std::string_view kExtensionPoint = "implied_identity";
  virtual ~ImpliedIdentity() = default;
  // That of a task; nothing: it needs none. Counts only where the task has none of that name. Requires: the job is
  // canonical.
  virtual std::optional<v1::Identity> identity_for(const v1::TaskGroup& group, const v1::Task& task) const = 0;
};

}  // namespace drover
