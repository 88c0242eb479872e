// The access control of an agent whose configuration enables none: every caller has all permissions.
#pragma once

#include "drover/access_control.h"

namespace drover::rpc {

class OpenAccess final : public AccessControl {
 public:
  void authenticate(const CallContext&, std::function<void(Result<Identity>)> done) override {
    done(Identity{Identity::Kind::management, "acls-disabled", all_permissions()});
  }
};

}  // namespace drover::rpc
