// Users whom a node makes up for single tasks (Nomad: dynamic workload users). No list of users has them: the name says
// the number, and the group of the user has the same one.
//
// A driver with the capability dynamic_workload_users gets such a name as its task's user. Pure.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace drover {

constexpr uint32_t kLastDynamicUser = 0x7fffffff;

// "nomad-80123".
std::string dynamic_user_name(uint32_t id);
// The number in such a name. Nothing for other names, for root, and beyond kLastDynamicUser.
std::optional<uint32_t> dynamic_user_id(std::string_view name);

}  // namespace drover
