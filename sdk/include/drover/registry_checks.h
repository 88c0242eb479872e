// The checks of services that are kept where the services are published: in a registry that runs them, or that is told
// their results by the node.
//
// Registered as declare.extend<RegistryChecks>(name, checks), under the name of the ServiceProvider. The plugin that
// runs this node's checks asks it for the results of those that the registry runs, and tells it of the others. [any]
#pragma once

#include <string>
#include <string_view>

#include "drover/result.h"

namespace drover::v1 {
class CheckResult;
}

namespace drover {

class RegistryChecks {
 public:
  static constexpr std::string_view kExtensionPoint = "registry_checks";
  virtual ~RegistryChecks() = default;

  // True when the registry itself runs checks of that type. Constant.
  virtual bool runs(std::string_view type) const = 0;
  // What the registry says of a check, by the identifier of InstanceCheck. Must not wait. Errors, which say nothing
  // about the service: not_found, the registry has no such check; failed_precondition, it has not run yet; unavailable,
  // the registry has not answered lately.
  virtual Result<v1::CheckResult> result(const std::string& check) const = 0;
  // Passes on a result of a check that the registry does not run. Must not wait; of several the last counts.
  virtual void tell(const std::string& check, const v1::CheckResult& result) = 0;
};

}  // namespace drover
