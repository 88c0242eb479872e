#include "users/user_range.h"

#include "drover/dynamic_user.h"

namespace drover::agent {
namespace {

constexpr int64_t kNoUsers = -1;

}  // namespace

ConfigOption users_option() {
  using Type = ConfigType;
  return {.name = "users",
          .type = Type::block,
          .help = "Users that tasks get which name none, where their driver can do that.",
          .options = {{.name = "dynamic_user_min",
                       .type = Type::integer,
                       .default_text = "80000",
                       .help = "First of their numbers, of users and groups; -1: they get none.",
                       .min = kNoUsers,
                       .max = kLastDynamicUser,
                       .api_name = "MinDynamicUser"},
                      {.name = "dynamic_user_max",
                       .type = Type::integer,
                       .default_text = "89999",
                       .help = "Last of their numbers; -1: they get none.",
                       .min = kNoUsers,
                       .max = kLastDynamicUser,
                       .api_name = "MaxDynamicUser"}}};
}

Result<std::optional<UserRange>> user_range_of(const ConfigBlock& client) {
  constexpr UserRange kUsual;
  const ConfigBlock* users = client.block("users");
  if (!users) return std::optional(kUsual);
  const int64_t first = users->integer("dynamic_user_min", kUsual.first);
  const int64_t last = users->integer("dynamic_user_max", kUsual.last);
  if (first == kNoUsers || last == kNoUsers) return std::optional<UserRange>();
  const std::string place = users->place.to_string() + ": client.users.";
  if (first == 0) return invalid_argument(place + "dynamic_user_min: 0 is root");
  if (first > last) return invalid_argument(place + "dynamic_user_min is greater than dynamic_user_max");
  return std::optional(UserRange{.first = static_cast<uint32_t>(first), .last = static_cast<uint32_t>(last)});
}

}  // namespace drover::agent
