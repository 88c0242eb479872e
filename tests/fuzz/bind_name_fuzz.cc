// One input as the name that a binding rule gives, with places for claims.
#include <optional>
#include <string>
#include <string_view>

#include "plugins/login/bind/form.h"

void fuzz_bind_name(std::string_view text);

void fuzz_bind_name(std::string_view text) {
  using namespace drover;
  const auto filled = login::fill_in(text, [](std::string_view name) { return std::optional(std::string(name)); });
  DROVER_CHECK(filled.ok() == login::check_form(text).ok());
  DROVER_CHECK(!filled.ok() || filled->size() <= text.size());
}
