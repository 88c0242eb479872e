#include "rights.h"

#include "drover/options.pb.h"
#include "drover/permissions.h"

namespace drover::variables {

bool may(const Call& call, std::string_view name_space, std::string_view path, Right right) {
  static constexpr Access::VariableRight kRights[] = {Access::VARIABLE_LIST, Access::VARIABLE_READ,
                                                      Access::VARIABLE_WRITE, Access::VARIABLE_DESTROY};
  return call.permissions().may_variable(name_space, path, kRights[static_cast<size_t>(right)]);
}

Status require(const Call& call, std::string_view name_space, std::string_view path, Right right) {
  return may(call, name_space, path, right) ? ok_status() : access_denied();
}

bool is_management(const Call& call) { return call.permissions().is_management(); }

}  // namespace drover::variables
