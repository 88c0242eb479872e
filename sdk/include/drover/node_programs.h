// Programs of this node that a module runs and supervises by itself, beside drivers and their like: for whoever shows
// them to operators. Registered as declare.extend<NodePrograms>(name, programs). [any, also before the module's start
// and after its stop: there are none then]
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "drover/result.h"

namespace drover::v1 {
class NodePlugin;
}

namespace drover {

class NodePrograms {
 public:
  static constexpr std::string_view kExtensionPoint = "node_programs";
  virtual ~NodePrograms() = default;
  // All that is known of each, but for its use of the machine: whoever asks adds that by its pid. Names are those of
  // blocks `plugin` in the agent's configuration.
  virtual std::vector<v1::NodePlugin> list() const = 0;
  // Ends the process in good order and starts the next one at once, also out of a pause. Returns before that is done.
  // Errors: not_found; failed_precondition with the reason for which it must go on.
  virtual Status restart(const std::string& name) = 0;
};

}  // namespace drover
