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

// The installed plugins that bring commands: by command, and by what they provide to each other.
struct Installed {
  std::map<std::string, const host::PluginFile*> provider;
  std::map<std::string, const host::PluginFile*> capability;
};

// The longest command whose words begin the arguments, and how many words it has.
std::pair<std::string, size_t> match(std::span<const std::string> arguments, const Installed& installed) {
  std::string words;
  std::pair<std::string, size_t> best;
  for (size_t i = 0; i < arguments.size() && !arguments[i].starts_with('-'); ++i) {
    words += (i ? " " : "") + arguments[i];
    if (installed.provider.contains(words)) best = {words, i + 1};
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

// Plugins that are loaded for this run of the program, and what they declared.
class LoadedPlugins {
 public:
  ~LoadedPlugins() {
    while (!plugins_.empty()) plugins_.pop_back();
  }
  // Loads the plugins after those that they require.
  Status load(std::vector<const host::PluginFile*> needed, const Installed& installed) {
    for (size_t i = 0; i < needed.size(); ++i) {
      for (const Requirement& requirement : needed[i]->manifest.requirements) {
        auto at = installed.capability.find(requirement.capability);
        if (at != installed.capability.end() && std::ranges::find(needed, at->second) == needed.end())
          needed.push_back(at->second);
      }
    }
    std::vector<const Manifest*> manifests;
    for (const host::PluginFile* file : needed) manifests.push_back(&file->manifest);
    DROVER_TRY(auto order, start_order(manifests));
    for (size_t i : order) {
      DROVER_TRY(host::CheckedFile file, host::check_file(*needed[i]));
      files_.push_back(std::move(file));
      DROVER_TRY(std::unique_ptr<Plugin> plugin, host::load(files_.back()));
      plugins_.push_back(std::move(plugin));
      auto declarations =
          host::make_declarations(needed[i]->manifest.name, {store_, log_commands_, methods_, extensions_, blocks_});
      DROVER_RETURN_IF_ERROR(
          plugins_.back()->declare(*declarations).with_context("plugin " + needed[i]->manifest.name));
    }
    return ok_status();
  }
  const host::ExtensionTable& extensions() const { return extensions_; }
  Command* command(const std::string& name) const {
    return static_cast<Command*>(extensions_.find(Command::kExtensionPoint, name));
  }
  // Name and synopsis of each that is installed; nothing is told of those whose plugins are not loaded.
  std::vector<std::pair<std::string, std::string>> commands(const Installed& installed) const {
    std::vector<std::pair<std::string, std::string>> all;
    for (const auto& [name, file] : installed.provider) {
      const Command* loaded = command(name);
      all.emplace_back(name, loaded ? loaded->synopsis() : "");
    }
    return all;
  }

 private:
  state::Store store_;
  host::CommandTable log_commands_;
  rpc::MethodTable methods_;
  host::ExtensionTable extensions_;
  DeclaredBlocks blocks_;
  std::vector<host::CheckedFile> files_;
  std::vector<std::unique_ptr<Plugin>> plugins_;
};

// The synopsis of every command that can be loaded; a plugin that cannot costs the others nothing.
std::map<std::string, std::string> synopses(const Installed& installed) {
  std::map<std::string, std::string> all = {
      {"agent", "Runs an agent."},
      {"plugin list", "Lists the installed plugins."},
      {"plugin check", "Checks plugin files as an agent would."},
      {"plugin validate-config", "Checks the files of an agent's configuration."}};
  std::set<const host::PluginFile*> files;
  for (const auto& [name, file] : installed.provider) files.insert(file);
  for (const host::PluginFile* file : files) {
    LoadedPlugins loaded;
    if (loaded.load({file}, installed).ok()) {
      for (const auto& [name, synopsis] : loaded.commands(installed)) {
        if (!synopsis.empty()) all[name] = synopsis;
      }
    }
  }
  for (const auto& [name, file] : installed.provider) all.try_emplace(name);
  return all;
}

// A command with its synopsis, a group with the names of its commands.
void print_help(std::ostream& out, const std::string& group, const Installed& installed) {
  std::map<std::string, std::string> shown;
  for (const auto& [command, synopsis] : synopses(installed)) {
    if (!group.empty() && !command.starts_with(group + " ")) continue;
    const std::string rest = group.empty() ? command : command.substr(group.size() + 1);
    const size_t end = rest.find(' ');
    std::string& text = shown[rest.substr(0, end)];
    if (end == std::string::npos) {
      text = synopsis;
    } else {
      text += (text.empty() ? "" : ", ") + rest.substr(end + 1);
    }
  }
  size_t width = 0;
  for (const auto& [name, text] : shown) width = std::max(width, name.size());
  out << "Usage: drover " << (group.empty() ? "" : group + " ") << "<command> [options] [arguments]\n\nCommands:\n\n";
  for (const auto& [name, text] : shown) {
    out << "    " << name << std::string(text.empty() ? 0 : width - name.size() + 2, ' ') << text << "\n";
  }
  out << "\nFor additional help try 'drover " << (group.empty() ? "" : group + " ") << "<command> -help'\n";
}

}  // namespace

int run_command(const std::string& program, std::span<const std::string> arguments) {
  host::Discovery found = host::discover({own_plugins(program)});
  for (const Status& problem : found.problems) std::cerr << "Error: " << problem.message() << "\n";
  Installed installed;
  for (const host::PluginFile& file : found.plugins) {
    if (!file.manifest.has_role("command")) continue;
    for (const std::string& command : file.manifest.commands) installed.provider[command] = &file;
    for (const std::string& provided : file.manifest.provides) installed.capability[provided] = &file;
  }
  const bool wants_help = arguments.empty() || arguments[0] == "-h" || arguments[0] == "-help" ||
                          arguments[0] == "--help" || arguments[0] == "help";
  if (wants_help) {
    print_help(std::cout, "", installed);
    return arguments.empty() ? 127 : 0;
  }
  auto [name, words] = match(arguments, installed);
  if (words == 0) {
    const std::string& group = arguments[0];
    const auto is_in_group = [&](const auto& each) { return each.first.starts_with(group + " "); };
    if (std::ranges::any_of(installed.provider, is_in_group)) {
      print_help(std::cerr, group, installed);
      return 127;
    }
    std::vector<std::string_view> candidates;
    for (const auto& [command, file] : installed.provider) candidates.push_back(command);
    const std::string hint = nearest_hint(group, candidates);
    std::cerr << "Unknown command \"" << group << "\"" << (hint.empty() ? "" : "; " + hint) << "\n\n";
    print_help(std::cerr, "", installed);
    return 127;
  }

  LoadedPlugins loaded;
  if (Status status = loaded.load({installed.provider[name]}, installed); !status.ok()) {
    std::cerr << "Error: " << status.message() << "\n";
    return 1;
  }
  ConsoleHost host(program, loaded.extensions(), loaded.commands(installed));
  Command* command = loaded.command(name);
  if (!command) {
    std::cerr << "Error: the manifest of plugin " << installed.provider[name]->manifest.name << " lists the command \""
              << name << "\", which the plugin does not have\n";
    return 1;
  }
  return command->run(arguments.subspan(words), host);
}

}  // namespace drover
