// The echo as a plugin that is a program of its own.
#include "echo.h"

#include <fcntl.h>
#include <unistd.h>

#include <span>
#include <string>

#include "../../../sdk/serve/program.h"

int main(int argc, char** argv) {
  const int handshake = ::fcntl(STDOUT_FILENO, F_DUPFD_CLOEXEC, 3);  // nothing else may be written there
  ::dup2(STDERR_FILENO, STDOUT_FILENO);
  const std::string name = "echo";
  const std::string version = "1.0.0";
  return drover::serve::serve({.kind = "benchmark",
                               .name = name,
                               .version = version,
                               .make = [](const std::string&) { return drover::bench::echo_methods(); },
                               .stop = [] {}},
                              std::span(argv, static_cast<size_t>(argc)), handshake);
}
