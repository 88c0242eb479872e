#include "kernel/command_line.h"

#include <algorithm>
#include <filesystem>
#include <iostream>
#include <map>
#include <optional>
#include <set>

#include "drover/command.h"
#include "drover/nearest.h"
#include "drover/start_order.h"
#include "kernel/host/loader.h"
#include "kernel/host/plugin_command.h"
#include "kernel/host/plugin_host.h"
#include "kernel/version.h"

namespace drover {
namespace {

std::string own_plugins(const std::string& program) {
  return std::filesystem::path(program).parent_path().string() + "/../lib/drover/plugins";
}

// The longest command whose words begin the arguments, and how many words it has.
std::pair<std::string, size_t> match(std::span<const std::string> arguments, const std::set<std::string>& commands) {
  std::string words;
  std::pair<std::string, size_t> best;
  for (size_t i = 0; i < arguments.size() && !arguments[i].starts_with('-'); ++i) {
    words += (i ? " " : "") + arguments[i];
    if (commands.contains(words)) best = {words, i + 1};
  }
  return best;
}

class ConsoleHost final : public CommandHost {
 public:
  ConsoleHost(const std::string& program, const host::ExtensionTable& extensions,
              std::vector<std::pair<std::string, std::string>> commands)
      : program_(program), extensions_(extensions), commands_(std::move(commands)) {}
  std::ostream& out() override { return std::cout; }
  std::ostream& err() override { return std::cerr; }
  std::istream& in() override { return std::cin; }
  void* find_extension(std::string_view point, std::string_view name) const override {
    return extensions_.find(point, name);
  }
  std::vector<std::pair<std::string, std::string>> commands() const override { return commands_; }
  std::string version() const override { return std::string(kVersion); }
  std::vector<InstalledPlugin> installed(const std::vector<std::string>& folders,
                                         std::vector<Status>& problems) const override {
    std::vector<std::string> all = {own_plugins(program_)};
    all.insert(all.end(), folders.begin(), folders.end());
    host::Discovery found = host::discover(all);
    problems = std::move(found.problems);
    std::vector<InstalledPlugin> plugins;
    for (host::PluginFile& file : found.plugins) {
      const auto checked = host::check_file(file);
      const Status verdict = checked ? host::probe(program_, {&*checked}) : checked.status();
      plugins.push_back({.manifest = std::move(file.manifest), .file = std::move(file.path), .verdict = verdict});
    }
    return plugins;
  }
  Result<std::unique_ptr<Plugin>> load_plugin(const std::string& file) override { return host::load_file(file); }

 private:
  const std::string& program_;
  const host::ExtensionTable& extensions_;
  std::vector<std::pair<std::string, std::string>> commands_;
};

void print_help(std::ostream& out, const std::string& group, const std::set<std::string>& commands) {
  out << "Usage: drover " << (group.empty() ? "" : group + " ") << "<command> [options] [arguments]\n\nCommands:\n\n";
  std::set<std::string> shown;
  for (const std::string& command : commands) {
    if (!group.empty() && !command.starts_with(group + " ")) continue;
    std::string rest = group.empty() ? command : command.substr(group.size() + 1);
    shown.insert(rest.substr(0, rest.find(' ')));
  }
  if (group.empty()) shown.insert({"agent", "plugin"});
  if (group == "plugin") shown.insert({"list", "check", "validate-config"});
  for (const std::string& name : shown) out << "    " << name << "\n";
  out << "\nFor additional help try 'drover " << (group.empty() ? "" : group + " ") << "<command> -help'\n";
}

}  // namespace

int run_command(const std::string& program, std::span<const std::string> arguments) {
  host::Discovery found = host::discover({own_plugins(program)});
  for (const Status& problem : found.problems) std::cerr << "Error: " << problem.message() << "\n";
  std::set<std::string> names;
  std::map<std::string, const host::PluginFile*> provider;  // by command
  std::map<std::string, const host::PluginFile*> capability;
  for (const host::PluginFile& file : found.plugins) {
    if (!file.manifest.has_role("command")) continue;
    for (const std::string& command : file.manifest.commands) {
      names.insert(command);
      provider[command] = &file;
    }
    for (const std::string& provided : file.manifest.provides) capability[provided] = &file;
  }
  const bool wants_help = arguments.empty() || arguments[0] == "-h" || arguments[0] == "-help" ||
                          arguments[0] == "--help" || arguments[0] == "help";
  if (wants_help) {
    print_help(std::cout, "", names);
    return arguments.empty() ? 127 : 0;
  }
  auto [name, words] = match(arguments, names);
  if (words == 0) {
    const std::string& group = arguments[0];
    if (std::ranges::any_of(names, [&](const std::string& n) { return n.starts_with(group + " "); })) {
      print_help(std::cerr, group, names);
      return 127;
    }
    std::vector<std::string_view> candidates(names.begin(), names.end());
    const std::string hint = nearest_hint(group, candidates);
    std::cerr << "Unknown command \"" << group << "\"" << (hint.empty() ? "" : "; " + hint) << "\n\n";
    print_help(std::cerr, "", names);
    return 127;
  }

  // The command's plugin and, first, what that requires.
  std::vector<const host::PluginFile*> needed = {provider[name]};
  for (size_t i = 0; i < needed.size(); ++i) {
    for (const Requirement& requirement : needed[i]->manifest.requirements) {
      auto at = capability.find(requirement.capability);
      if (at != capability.end() && std::ranges::find(needed, at->second) == needed.end()) needed.push_back(at->second);
    }
  }
  std::vector<const Manifest*> manifests;
  for (const host::PluginFile* file : needed) manifests.push_back(&file->manifest);
  auto order = start_order(manifests);
  state::Store store;
  host::CommandTable log_commands;
  rpc::MethodTable methods;
  host::ExtensionTable extensions;
  DeclaredBlocks blocks;
  std::vector<host::CheckedFile> files;
  std::vector<std::unique_ptr<Plugin>> plugins;
  const auto load = [&]() -> Status {
    DROVER_RETURN_IF_ERROR(order.status());
    for (size_t i : *order) {
      DROVER_TRY(host::CheckedFile file, host::check_file(*needed[i]));
      files.push_back(std::move(file));
      DROVER_TRY(std::unique_ptr<Plugin> plugin, host::load(files.back()));
      plugins.push_back(std::move(plugin));
      auto declarations =
          host::make_declarations(needed[i]->manifest.name, {store, log_commands, methods, extensions, blocks});
      DROVER_RETURN_IF_ERROR(plugins.back()->declare(*declarations).with_context("plugin " + needed[i]->manifest.name));
    }
    return ok_status();
  };
  if (Status status = load(); !status.ok()) {
    std::cerr << "Error: " << status.message() << "\n";
    return 1;
  }
  std::vector<std::pair<std::string, std::string>> all;
  for (const std::string& each : extensions.names(Command::kExtensionPoint)) {
    all.emplace_back(each, static_cast<Command*>(extensions.find(Command::kExtensionPoint, each))->synopsis());
  }
  ConsoleHost host(program, extensions, std::move(all));
  auto* command = static_cast<Command*>(extensions.find(Command::kExtensionPoint, name));
  if (!command) {
    std::cerr << "Error: the manifest of plugin " << provider[name]->manifest.name << " lists the command \"" << name
              << "\", which the plugin does not have\n";
    return 1;
  }
  const int code = command->run(arguments.subspan(words), host);
  while (!plugins.empty()) plugins.pop_back();
  return code;
}

}  // namespace drover
