// The service that plugin_bench calls: a request comes back as it is.
#pragma once

#include "../../../sdk/serve/server.h"

namespace drover::bench {

inline constexpr char kEcho[] = "/drover.bench.Echo/Call";

inline serve::Methods echo_methods() {
  return {{kEcho, [](serve::Call& call) {
             (void)call.send(call.request());
             return ok_status();
           }}};
}

}  // namespace drover::bench
