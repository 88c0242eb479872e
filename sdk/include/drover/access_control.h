// Finds out who calls: a stage of the router. Whether the caller may is decided by drover::allows from what this says.
// [any]
#pragma once

#include <functional>
#include <string_view>

#include "drover/methods.h"
#include "drover/result.h"

namespace drover {

// An agent whose configuration enables access control has exactly one; without it everybody has all permissions.
class AccessControl {
 public:
  static constexpr std::string_view kExtensionPoint = "access_control";
  virtual ~AccessControl() = default;
  // From what the call carries: token, node secret, peer. Runs where the call enters and again where it is served. Who
  // shows nothing is anonymous, which is no error. `done` runs once, on this thread or later on another; the context
  // lives until then. Errors: permission_denied; the router answers it after forwarding and counting.
  virtual void authenticate(const CallContext& context, std::function<void(Result<Identity>)> done) = 0;
};

// The end of a stream whose caller has lost the right to it. permission_denied, with a text for people.
Status right_is_lost();

}  // namespace drover
