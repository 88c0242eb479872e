// The plugins that serve auth methods: those of this build, and programs, which come and go.
#pragma once

#include <string_view>

#include "drover/auth_method.h"

namespace drover {
class Host;
}

namespace drover::login {

// The plugin of that type, compared without case; null: none is loaded. It lives as long as the host.
AuthMethod* plugin_of_type(const Host& host, std::string_view type);

}  // namespace drover::login
