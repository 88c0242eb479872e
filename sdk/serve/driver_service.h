// The services that a host of drivers calls, over one TaskDriver: those that every plugin has, and the driver service.
#pragma once

#include <functional>
#include <string>

#include "drover/serve.h"
#include "server.h"

namespace drover::serve {

struct DriverService {
  TaskDriver& driver;
  std::string name;      // told to the host
  std::string own_name;  // as the driver's attributes have it: "driver.<own name>.…"
  std::string version;
  std::function<void()> end;  // the host wants the program to end; must not block
  std::chrono::nanoseconds fingerprint_every = std::chrono::seconds(30);
};

// `service` is copied; its driver outlives the methods.
Methods driver_methods(const DriverService& service);

}  // namespace drover::serve
