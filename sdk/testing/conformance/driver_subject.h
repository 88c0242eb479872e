// A plugin as a table of methods in this process, called without a socket.
#pragma once

#include <functional>
#include <memory>

#include "../../serve/server.h"
#include "drover/conformance.h"

namespace drover::conformance {

// The name of an object in this process, which has none of its own.
inline constexpr const char* kNoName = "plugin";

// One living instance. Its destructor is its end: what blocks in a method must return then.
class Instance {
 public:
  virtual ~Instance() = default;
  virtual const serve::Methods& methods() const = 0;
  virtual void stop() = 0;  // ends what blocks
};

// A driver inside the agent has its configuration from its plugin, not over the protocol: it takes none here.
void leave_configured(serve::Methods& methods);

SubjectFactory instance_subject(std::function<std::unique_ptr<Instance>()> make);

}  // namespace drover::conformance
