// A plugin that lives outside of the build, in the role that it says it has.
#pragma once

#include "auth_program.h"
#include "check_program.h"
#include "device_program.h"
#include "driver_plugin.h"
#include "drover/plugin_kind.h"
#include "program_host.h"
#include "service_program.h"

namespace drover::external {

struct HostedPluginOptions {
  ProgramHostOptions program;  // without `role`
  DriverPluginOptions driver;
  // A plugin with this extension point, of any kind but drivers, has come, gone or says another thing. Must not block.
  std::function<void(std::string_view point)> changed{};
};

class HostedPlugin {
 public:
  HostedPlugin(HostedPluginOptions options, Clock& clock, Metrics& metrics)
      : driver_(std::move(options.driver), program_),
        device_(telling<DevicePlugin>(options), program_),
        checks_(telling<CheckProvider>(options), program_),
        services_(telling<ServiceProvider>(options), program_),
        auth_(telling<AuthMethod>(options), program_),
        program_(with_roles(std::move(options.program)), clock, metrics) {}

  ProgramHost& program() { return program_; }
  const ProgramHost& program() const { return program_; }
  DriverPlugin& driver() { return driver_; }
  const DriverPlugin& driver() const { return driver_; }
  DeviceProgram& device() { return device_; }
  CheckProgram& checks() { return checks_; }
  ServiceProgram& services() { return services_; }
  AuthProgram& auth() { return auth_; }

  // Null before it has said what it is.
  const PluginKind* kind() const { return kind_of_type(program_.info().type()); }
  bool is_driver() const { return program_.info().type() == hashicorp::nomad::plugins::base::proto::DRIVER; }
  // By the interface of the kind with this extension point; null when it is of another kind.
  void* find(std::string_view point) {
    const PluginKind* const own = kind();
    if (!own || own->point != point) return nullptr;
    if (point == DevicePlugin::kExtensionPoint) return static_cast<DevicePlugin*>(&device_);
    if (point == CheckProvider::kExtensionPoint) return static_cast<CheckProvider*>(&checks_);
    if (point == ServiceProvider::kExtensionPoint) return static_cast<ServiceProvider*>(&services_);
    if (point == AuthMethod::kExtensionPoint) return static_cast<AuthMethod*>(&auth_);
    return static_cast<TaskDriver*>(&driver_);
  }

 private:
  template <typename Kind>
  static std::function<void()> telling(const HostedPluginOptions& options) {
    if (!options.changed) return {};
    return [changed = options.changed] { changed(Kind::kExtensionPoint); };
  }
  ProgramHostOptions with_roles(ProgramHostOptions options) {
    namespace base = hashicorp::nomad::plugins::base::proto;
    options.role = [this](auto type) -> Role* {
      switch (type) {
        case base::DRIVER:
          return &driver_;
        case base::DEVICE:
          return &device_;
        case base::CHECK_PROVIDER:
          return &checks_;
        case base::SERVICE_PROVIDER:
          return &services_;
        case base::AUTH_METHOD:
          return &auth_;
        default:
          return nullptr;
      }
    };
    return options;
  }

  DriverPlugin driver_;
  DeviceProgram device_;
  CheckProgram checks_;
  ServiceProgram services_;
  AuthProgram auth_;
  ProgramHost program_;  // last: it ends first
};

}  // namespace drover::external
