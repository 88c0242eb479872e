// The services that a host of device plugins calls, over one DevicePlugin: those that every plugin has, and the device
// service.
#pragma once

#include <functional>
#include <string>

#include "drover/device_plugin.h"
#include "server.h"

namespace drover::serve {

struct DeviceService {
  DevicePlugin& plugin;
  std::string name;  // told to the host
  std::string version;
  std::function<void()> end;  // the host wants the program to end; must not block
};

// `service` is copied; its plugin outlives the methods.
Methods device_methods(const DeviceService& service);

}  // namespace drover::serve
