#include "images/helper_program.h"

#include <algorithm>
#include <cctype>

#include "drover/program.h"

namespace drover::docker {

Result<std::string> run_credential_helper(const std::string& name, const std::string& registry, std::stop_token stop) {
  const bool is_name = !name.empty() && std::ranges::all_of(name, [](char c) {
    return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '-' || c == '_' || c == '.';
  });
  if (!is_name) return invalid_argument("\"" + name + "\" is no name of a credential helper");
  return ask_program({.program = "docker-credential-" + name,
                      .arguments = {"get"},
                      .input = registry,
                      .time = std::chrono::seconds(30),
                      .longest = 1 << 18},
                     stop);
}

}  // namespace drover::docker
