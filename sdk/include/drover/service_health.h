// How the services of this node do by their checks, for those who publish them. Provided by the plugin that runs the
// checks, under any name; where there is none, nothing is known and every service passes. [any]
#pragma once

#include <functional>
#include <string>
#include <string_view>

#include "drover/uuid.h"

namespace drover {

enum class ServiceStatus : uint8_t { passing, warning, critical };

struct ServiceHealthNow {
  ServiceStatus status = ServiceStatus::passing;
  std::string output;  // of the check that says so, for people
};

class ServiceHealth {
 public:
  static constexpr std::string_view kExtensionPoint = "service_health";
  virtual ~ServiceHealth() = default;
  // The worst of the service's checks that have run; of what is not known, passing. `task`: whose service it is; empty:
  // the group's. `service`: its name, filled in.
  virtual ServiceHealthNow health(const Uuid& allocation, std::string_view task, std::string_view service) const = 0;
  // From now on `changed` is called when the status of a service may be another; it must not wait. Null: no more, and
  // once this returns nobody calls the one before. Requires: not called out of `changed`.
  virtual void watch(std::function<void()> changed) = 0;
};

}  // namespace drover
