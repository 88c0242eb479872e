// The function main of a plugin that is a program of its own.
#include <fcntl.h>
#include <unistd.h>

#include "drover/serve.h"

namespace {

int handshake = -1;

// Before any other constructor of the program: a line on standard output before the handshake's ends the launch.
__attribute__((constructor(101))) void take_standard_output() {
  handshake = ::fcntl(STDOUT_FILENO, F_DUPFD_CLOEXEC, 3);
  ::dup2(STDERR_FILENO, STDOUT_FILENO);
}

}  // namespace

int main(int argc, char** argv) {
  const std::span<char*> arguments(argv, static_cast<size_t>(argc));
  return drover::serve_plugin(drover::served_plugin(), arguments, handshake);
}
