#include "kinds/hosted_plugin.h"

#include <algorithm>

#include "kinds/auth_program.h"
#include "kinds/check_program.h"
#include "kinds/device_program.h"
#include "kinds/driver_plugin.h"
#include "kinds/service_program.h"

namespace drover::plugin_programs {
namespace {

// The agent's objects for a plugin: the role, and the same object by the interface of its kind.
struct Made {
  std::unique_ptr<Role> role;
  void* interface;
};

template <typename Interface, typename Class>
Made make(RoleOptions options, ProgramHost& program) {
  auto role = std::make_unique<Class>(std::move(options), program);
  void* const interface = static_cast<Interface*>(role.get());
  return {.role = std::move(role), .interface = interface};
}

struct Row {
  PluginKind kind;
  Made (*make)(RoleOptions options, ProgramHost& program);
};

constexpr Row kRows[] = {{TaskDriver::kKind, make<TaskDriver, DriverPlugin>},
                         {DevicePlugin::kKind, make<DevicePlugin, DeviceProgram>},
                         {CheckProvider::kKind, make<CheckProvider, CheckProgram>},
                         {ServiceProvider::kKind, make<ServiceProvider, ServiceProgram>},
                         {AuthMethod::kKind, make<AuthMethod, AuthProgram>}};
static_assert(std::size(kRows) == PluginInterfaces::kCount);

}  // namespace

HostedPlugin::HostedPlugin(HostedPluginOptions options, Clock& clock, Metrics& metrics)
    : options_(std::move(options)), program_(with_role(options_.program), clock, metrics) {}

ProgramHostOptions HostedPlugin::with_role(ProgramHostOptions options) {
  options.role = [this](const PluginKind& kind) { return role_of(kind); };
  return options;
}

// [plugin]
Role* HostedPlugin::role_of(const PluginKind& kind) {
  const MutexLock lock(mutex_);
  if (role_) return role_.get();
  RoleOptions options{.cgroups = options_.cgroups, .pipes = options_.pipes};
  if (options_.changed) options.changed = [this, point = kind.point] { options_.changed(point); };
  Made made = std::ranges::find(kRows, kind, &Row::kind)->make(std::move(options), program_);
  role_ = std::move(made.role);
  interface_ = made.interface;
  return role_.get();
}

const PluginKind* HostedPlugin::kind() const { return kind_of_type(program_.info().type()); }

void* HostedPlugin::find(std::string_view point) const {
  const PluginKind* const own = kind();
  if (!own || own->point != point) return nullptr;
  const MutexLock lock(mutex_);
  return interface_;
}

std::vector<std::string> HostedPlugin::tasks() const {
  const Role* const role = [this] {
    const MutexLock lock(mutex_);
    return role_.get();
  }();
  return role ? role->tasks() : std::vector<std::string>();
}

}  // namespace drover::plugin_programs
