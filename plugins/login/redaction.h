// The secrets in the Config of an auth method: what is shown in their place, and how they stay when a Config that was
// shown is written again. Pure.
#pragma once

#include <string>
#include <string_view>

#include "drover/result.h"

namespace drover::login {

// A member whose name ends in "secret", "password", "passphrase", "privatekey", "pemkey" or "token", whatever the case.
bool is_secret_name(std::string_view name);

// The object with the texts of such members replaced by "redacted", at any depth. Requires: an object, or empty.
std::string redacted(const std::string& config);

// True when a member is shown so.
bool has_secrets(const std::string& config);

// The other way round: where the new one says "redacted", what stands in the existing one at the same place. Errors:
// invalid_argument naming a member where nothing stands.
Result<std::string> with_secrets(const std::string& config, const std::string& existing);

}  // namespace drover::login
