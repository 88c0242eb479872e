// A plugin that lives outside of the build, in the one role that its kind asks for.
#pragma once

#include "drover/mutex.h"
#include "kinds/role_options.h"

namespace drover::plugin_programs {

struct HostedPluginOptions {
  ProgramHostOptions program;            // without `role`
  const TaskCgroups* cgroups = nullptr;  // as RoleOptions has them
  LogPipes* pipes = nullptr;
  // A plugin with this extension point has come or gone, or says another thing of itself. Must not block.
  std::function<void(std::string_view point)> changed{};
};

// Any thread may call.
class HostedPlugin {
 public:
  HostedPlugin(HostedPluginOptions options, Clock& clock, Metrics& metrics);

  ProgramHost& program() { return program_; }
  const ProgramHost& program() const { return program_; }
  // Null before it has said what it is.
  const PluginKind* kind() const;
  // The plugin by the interface of the kind with this extension point: null when it is of another kind, or has not said
  // yet what it is.
  void* find(std::string_view point) const;
  template <typename Interface>
  Interface* find() const {
    return static_cast<Interface*>(find(Interface::kExtensionPoint));
  }
  // The tasks of a driver.
  std::vector<std::string> tasks() const;

 private:
  Role* role_of(const PluginKind& kind);
  ProgramHostOptions with_role(ProgramHostOptions options);

  const HostedPluginOptions options_;
  mutable Mutex mutex_;
  std::unique_ptr<Role> role_ DROVER_GUARDED_BY(mutex_);  // constant once made
  void* interface_ DROVER_GUARDED_BY(mutex_) = nullptr;   // of its kind; the same object as the role
  ProgramHost program_;                                   // last: it ends first
};

}  // namespace drover::plugin_programs
