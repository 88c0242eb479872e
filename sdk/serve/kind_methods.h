// The services that a host of each kind of plugin calls, over one object of it: those that every plugin has
// (base_service.h), and those of its kind.
#pragma once

#include <functional>
#include <string>

#include "server.h"

namespace drover {
class AuthMethod;
class CheckProvider;
class DevicePlugin;
class ServiceProvider;
class TaskDriver;
}  // namespace drover

namespace drover::serve {

struct About {
  std::string name;      // told to the host
  std::string own_name;  // as a driver's attributes have it: "driver.<own name>.…"
  std::string version;
  std::function<void()> end;  // the host wants the program to end; must not block
};

// `plugin` outlives the methods.
Methods methods_of(TaskDriver& plugin, const About& about);
Methods methods_of(DevicePlugin& plugin, const About& about);
Methods methods_of(CheckProvider& plugin, const About& about);
Methods methods_of(ServiceProvider& plugin, const About& about);
Methods methods_of(AuthMethod& plugin, const About& about);

}  // namespace drover::serve
