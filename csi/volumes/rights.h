// The right that calls about volumes ask for beside their rule.
#pragma once

#include "drover/methods.h"
#include "drover/permissions.h"

namespace drover::volumes {

// Errors: access_denied(), for a caller without plugin:read.
inline Status may_read_plugins(const Call& call) {
  return call.permissions().granted(Area::plugin) >= Grant::read ? ok_status() : access_denied();
}

}  // namespace drover::volumes
