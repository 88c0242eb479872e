// A plugin's program, whatever its methods are: from the host's environment to the orderly end.
#pragma once

#include <functional>
#include <span>
#include <string>
#include <string_view>

#include "server.h"

namespace drover::serve {

struct Program {
  std::string_view kind;  // for people
  const std::string& name;
  const std::string& version;
  std::function<Methods(const std::string& name)> make;  // once; under the name that the host is told
  std::function<void()> stop;                            // only when no call is open
};

// As serve_plugin (drover/serve.h), which is made of it. Once, from main.
int serve(const Program& program, std::span<char*> arguments, int handshake);

// Has the program end in order. Must not block, and does not. [any]
void request_end();

}  // namespace drover::serve
