// Authentication and authorization of calls, as two stages of the router. [any]
#pragma once

#include <string_view>

#include "drover/methods.h"
#include "drover/result.h"

namespace drover {

class Access;  // drover/options.proto

class AccessControl {
 public:
  static constexpr std::string_view kExtensionPoint = "access_control";
  virtual ~AccessControl() = default;
  // From what the call carries: token, node secret, peer. Runs where the call enters and again where it is served.
  // Errors: permission_denied; the router answers it after forwarding and counting.
  virtual Result<Identity> authenticate(const CallContext& context) = 0;
  // Errors: permission_denied with the text "Permission denied".
  virtual Status authorize(const Identity& identity, const Access& rule, const CallContext& context) = 0;
};

}  // namespace drover
