#include "drover/dynamic_user.h"

#include <charconv>

namespace drover {
namespace {

constexpr std::string_view kDynamicUserPrefix = "nomad-";

}  // namespace

std::string dynamic_user_name(uint32_t id) { return std::string(kDynamicUserPrefix) + std::to_string(id); }

std::optional<uint32_t> dynamic_user_id(std::string_view name) {
  if (!name.starts_with(kDynamicUserPrefix)) return std::nullopt;
  name.remove_prefix(kDynamicUserPrefix.size());
  uint32_t id = 0;
  const auto [end, error] = std::from_chars(name.data(), name.data() + name.size(), id);
  const bool is_number = error == std::errc() && end == name.data() + name.size();
  return is_number && id > 0 && id <= kLastDynamicUser ? std::optional(id) : std::nullopt;
}

}  // namespace drover
