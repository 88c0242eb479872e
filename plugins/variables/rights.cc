#include "rights.h"

namespace drover::variables {

// Without access control everybody may.
bool may(const Call&, std::string_view, std::string_view, Right) { return true; }

Status require(const Call& call, std::string_view name_space, std::string_view path, Right right) {
  return may(call, name_space, path, right) ? ok_status() : permission_denied("Permission denied");
}

bool is_management(const Call& call) { return call.context().identity.kind == Identity::Kind::management; }

}  // namespace drover::variables
