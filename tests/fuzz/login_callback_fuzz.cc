// One input as the request with which a browser comes back to `drover login`.
#include <string_view>

#include "plugins/cli/login/callback.h"

void fuzz_login_callback(std::string_view text);

void fuzz_login_callback(std::string_view text) {
  const drover::cli::Callback callback = drover::cli::read_callback(text);
  DROVER_CHECK(callback.is_it == (!callback.code.empty() || !callback.error.empty()));
  DROVER_CHECK(callback.code.size() + callback.state.size() + callback.error.size() <= text.size());
}
