// The drover program: `agent` runs an agent, `plugin` looks after plugins, everything else is a plugin's command.
#include <unistd.h>

#include <array>
#include <cstdlib>
#include <filesystem>
#include <iostream>
#include <string>
#include <vector>

#include "kernel/agent.h"
#include "kernel/command_line.h"
#include "kernel/host/plugin_command.h"
#include "kernel/version.h"

namespace {

// Where this program lies, whatever name or link it was called by: plugins are found from here.
std::string own_path() {
  std::error_code error;
  auto path = std::filesystem::read_symlink("/proc/self/exe", error);
  return error ? std::string("drover") : path.string();
}

int print_version(const std::string& called_as) {
  if (called_as == "nomad") {
    std::cout << "Nomad v" << drover::kCompatibleVersion << "\n";
  } else {
    std::cout << "Drover v" << drover::kVersion << "\nSpeaks Nomad v" << drover::kCompatibleVersion << "\n";
  }
  std::cout << "BuildDate " << drover::kBuildDate << "\nRevision " << drover::kRevision << "\n";
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  const std::string called_as = argc > 0 ? std::filesystem::path(argv[0]).filename().string() : "drover";
  const std::string program = own_path();
  std::vector<std::string> arguments(argv + std::min(argc, 1), argv + argc);
  // A shell that asks for completions, or is told to ask, gets the command `autocomplete`.
  if (std::getenv("COMP_LINE")) arguments = {"autocomplete"};
  if (!arguments.empty() && arguments.front().starts_with("-autocomplete-"))
    arguments = {"autocomplete", arguments.front().substr(sizeof("-autocomplete") - 1)};
  const std::string first = arguments.empty() ? "" : arguments.front();
  const std::span rest = std::span(arguments).subspan(std::min<size_t>(1, arguments.size()));
  if (first == "version" || first == "-version" || first == "--version" || first == "-v")
    return print_version(called_as);
  if (first == "agent") return drover::run_agent(program, rest);
  if (first == "plugin" && (rest.empty() || drover::host::is_plugin_command(rest.front())))
    return drover::host::run_plugin_command(program, rest);
  return drover::run_command(program, arguments);
}
