#include "kernel/host/plugin_command.h"

#include <algorithm>
#include <filesystem>
#include <iomanip>
#include <iostream>

#include "drover/machine_addresses.h"
#include "drover/start_order.h"
#include "kernel/host/loader.h"
#include "kernel/host/plugin_host.h"

namespace drover::host {
namespace {

constexpr std::string_view kHelp =
    "Usage: drover plugin <command> [arguments]\n\n"
    "    list                        every plugin that is installed, one line each\n"
    "    check FILE...               load a plugin file in this process, as the agent would\n"
    "    validate-config [options]   check a configuration as `drover agent [options]` would, and start nothing\n"
    "    status, restart, upgrade    what plugins do on a node; each has a -help of its own\n"
    "    new, test, run              write a plugin, test it, try it out; each has a -help of its own\n\n"
    "Options of list:  -plugin-dir=<folder>  a further folder with plugins\n";

std::vector<std::string> folders(const std::string& program, std::span<const std::string> arguments) {
  std::vector<std::string> list = {std::filesystem::path(program).parent_path().string() + "/../lib/drover/plugins"};
  for (const std::string& argument : arguments) {
    for (std::string_view flag : {"-plugin-dir=", "--plugin-dir="}) {
      if (argument.starts_with(flag)) list.push_back(argument.substr(flag.size()));
    }
  }
  return list;
}

int report(const std::vector<Status>& problems) {
  for (const Status& problem : problems) std::cerr << "Error: " << problem.message() << "\n";
  return problems.empty() ? 0 : 1;
}

int list(const std::string& program, std::span<const std::string> arguments) {
  Discovery found = discover(folders(program, arguments));
  size_t width = 4;
  for (const PluginFile& file : found.plugins) width = std::max(width, file.manifest.name.size());
  const auto row = [&](const std::string& name, const std::string& version, const std::string& tier,
                       const std::string& kind, const std::string& summary) {
    std::cout << std::left << std::setw(static_cast<int>(width) + 2) << name << std::setw(9) << version << std::setw(8)
              << tier << std::setw(13) << kind << summary << "\n";
  };
  row("Name", "Version", "Tier", "Kind", "Summary");
  for (const PluginFile& file : found.plugins) {
    row(file.manifest.name, file.manifest.version, file.manifest.tier, file.manifest.kind, file.manifest.summary);
  }
  return report(found.problems);
}

// Loads each file and asks it for its declarations, in this process.
int check(std::span<const std::string> arguments) {
  const bool quiet = !arguments.empty() && arguments.front() == "--probe";
  if (quiet) arguments = arguments.subspan(1);
  if (arguments.empty()) {
    std::cerr << "Error: name the plugin's .so file; its manifest must lie beside it\n";
    return 1;
  }
  for (const std::string& path : arguments) {
    Manifest manifest;
    if (auto loaded = load_file(path, &manifest); !loaded.ok()) {
      std::cerr << "Error: " << loaded.status().message() << "\n";
      return 1;
    }
    if (!quiet) std::cout << "Plugin " << manifest.name << " " << manifest.version << " passes every check\n";
  }
  return 0;
}

// Checks the files and flags against the options of the installed plugins.
int validate_config(const std::string& program, std::span<const std::string> arguments) {
  const auto run = [&]() -> Status {
    DROVER_TRY(RawConfig raw, read_agent_arguments(arguments));
    DROVER_TRY(DeclaredBlocks declared, declared_options(plugin_folders(raw.root, program)));
    std::vector<std::string> warnings;
    DROVER_TRY(ConfigBlock checked, check_config(raw, declared, warnings));
    DROVER_RETURN_IF_ERROR(agent_settings(checked, raw.dev, machine_addresses()).status());
    for (const std::string& warning : warnings) std::cout << "Warning: " << warning << "\n";
    return ok_status();
  };
  if (Status problem = run(); !problem.ok()) {
    std::cerr << "Error: " << problem.message() << "\n";
    return 1;
  }
  std::cout << "Configuration is valid!\n";
  return 0;
}

}  // namespace

Result<std::unique_ptr<Plugin>> load_file(const std::string& path, Manifest* manifest) {
  static std::vector<CheckedFile> kept;  // their code stays
  const std::filesystem::path name = std::filesystem::path(path).filename();
  Discovery found = discover({std::filesystem::absolute(path).parent_path()});
  const auto file = std::ranges::find_if(
      found.plugins, [&](const PluginFile& f) { return std::filesystem::path(f.path).filename() == name; });
  if (file == found.plugins.end()) {
    std::string problems;
    for (const Status& problem : found.problems) problems += problem.message() + "\n";
    return not_found(problems + path + ": no manifest beside it; expected " +
                     std::filesystem::path(path).replace_extension(".json").string());
  }
  DROVER_TRY(CheckedFile checked, check_file(*file));
  kept.push_back(std::move(checked));
  if (manifest) *manifest = file->manifest;
  return load(kept.back());
}

Result<DeclaredBlocks> declared_options(const std::vector<std::string>& folders) {
  Discovery found = discover(folders);
  for (const Status& problem : found.problems) return problem;
  std::vector<const Manifest*> manifests;
  for (const PluginFile& file : found.plugins) manifests.push_back(&file.manifest);
  DROVER_TRY(std::vector<size_t> order, start_order(manifests));
  state::Store store;
  CommandTable commands;
  rpc::MethodTable methods;
  ExtensionTable extensions;
  DeclaredBlocks blocks;
  static std::vector<CheckedFile> files;  // until the process ends, like their code
  static std::vector<std::unique_ptr<Plugin>> plugins;
  for (size_t i : order) {
    DROVER_TRY(CheckedFile file, check_file(found.plugins[i]));
    files.push_back(std::move(file));
    DROVER_TRY(std::unique_ptr<Plugin> plugin, load(files.back()));
    plugins.push_back(std::move(plugin));
    auto declarations =
        make_declarations(found.plugins[i].manifest.name, {store, commands, methods, extensions, blocks});
    DROVER_RETURN_IF_ERROR(
        plugins.back()->declare(*declarations).with_context("plugin " + found.plugins[i].manifest.name));
  }
  return blocks;
}

bool is_plugin_command(std::string_view name) {
  for (const std::string_view known : {"list", "check", "validate-config", "-h", "-help", "--help", "help"}) {
    if (name == known) return true;
  }
  return false;
}

int run_plugin_command(const std::string& program, std::span<const std::string> arguments) {
  const std::string command = arguments.empty() ? "" : arguments.front();
  const std::span rest = arguments.subspan(std::min<size_t>(1, arguments.size()));
  if (command == "list") return list(program, rest);
  if (command == "check") return check(rest);
  if (command == "validate-config") return validate_config(program, rest);
  const bool asked = command == "-h" || command == "-help" || command == "--help" || command == "help";
  (asked ? std::cout : std::cerr) << kHelp;
  return asked ? 0 : 127;
}

}  // namespace drover::host
