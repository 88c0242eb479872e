#include "autocomplete.h"

#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <set>
#include <sstream>

#include "cli_command.h"
#include "drover/api/evaluations.pb.h"
#include "drover/api/jobs.pb.h"
#include "drover/api/namespaces.pb.h"
#include "drover/api/nodes.pb.h"
#include "drover/api/plugins.pb.h"
#include "drover/api/services.pb.h"
#include "drover/api/variables.pb.h"

namespace drover::cli {
namespace {

namespace fs = std::filesystem;

std::vector<std::string> words_of(std::string_view line) {
  std::vector<std::string> words;
  std::istringstream in{std::string(line)};
  for (std::string word; in >> word;) words.push_back(std::move(word));
  if (line.empty() || line.back() == ' ') words.emplace_back();
  return words;
}

// "  -name=<value>" → "-name="; nothing when the line of the help is no flag.
std::string flag_of(const std::string& line) {
  if (!line.starts_with("  -")) return {};
  const size_t end = line.find('=');
  return line.substr(2, end == std::string::npos ? end : end - 1);
}

std::vector<std::string> flags_of(const std::string& help, const std::string& prefix) {
  std::set<std::string> found;
  std::istringstream lines(help);
  for (std::string line; std::getline(lines, line);) {
    if (std::string flag = flag_of(line); !flag.empty() && flag.starts_with(prefix)) found.insert(std::move(flag));
  }
  return {found.begin(), found.end()};
}

std::vector<std::string> complete_argument(const std::string& command, const std::string& word,
                                           const Completions& known) {
  const std::string help = known.help_of(command);
  if (word.starts_with('-'))
    return word.find('=') == std::string::npos ? flags_of(help, word) : std::vector<std::string>();
  const std::string usage = help.substr(0, help.find('\n'));
  for (const std::string kind : {"job", "node", "allocation", "evaluation", "plugin", "service", "namespace"}) {
    if (usage.find("<" + kind + ">") != std::string::npos || usage.find("[" + kind + "]") != std::string::npos)
      return known.ids_of(kind, word);
  }
  for (const char* place : {"<path>", "[path]", "[prefix]"}) {
    if (command.starts_with("var ") && usage.find(place) != std::string::npos) return known.ids_of("variable", word);
  }
  return {};
}

std::string line_for(const std::string& program) {
  return "complete -C " + program + " " + fs::path(program).filename().string() + "\n";
}
constexpr std::string_view kZshNeeds = "autoload -U +X bashcompinit && bashcompinit\n";

void erase_all(std::string& text, std::string_view line) {
  for (size_t at = 0; (at = text.find(line)) != std::string::npos;) text.erase(at, line.size());
}

// ---- the command ----

std::vector<std::string> service_names(Client& client, const std::string& prefix) {
  std::set<std::string> names;
  if (const auto found = client.call<v1::Services::List>({})) {
    for (const auto& each : found->message.namespaces()) {
      for (const v1::ServiceStub& stub : each.services()) {
        if (stub.service_name().starts_with(prefix)) names.insert(stub.service_name());
      }
    }
  }
  return {names.begin(), names.end()};
}

std::vector<std::string> look_up(Client& client, const std::string& kind, const std::string& prefix) {
  if (kind == "service") return service_names(client, prefix);
  // An identifier's prefix has whole bytes.
  const bool is_text = kind == "job" || kind == "variable" || kind == "namespace";
  const size_t asked = is_text ? prefix.size() : prefix.size() & ~size_t{1};
  const Parameters page = {{"prefix", prefix.substr(0, asked)}, {"per_page", "100"}};
  // Where the agent does not answer nothing is offered, and nothing is said on the person's line.
  const auto rows_of = [](const auto& found) { return found ? found->json() : nlohmann::json(); };
  const auto rows = kind == "job"          ? rows_of(client.call<v1::Jobs::List>({}, page))
                    : kind == "variable"   ? rows_of(client.call<v1::Variables::List>({}, page))
                    : kind == "namespace"  ? rows_of(client.call<v1::Namespaces::List>({}, page))
                    : kind == "node"       ? rows_of(client.call<v1::Nodes::List>({}, page))
                    : kind == "allocation" ? rows_of(client.call<v1::Allocations::List>({}, page))
                    : kind == "evaluation" ? rows_of(client.call<v1::Evaluations::List>({}, page))
                                           : rows_of(client.call<v1::NodePlugins::List>({}));  // without pages
  std::vector<std::string> ids;
  for (const auto& row : rows) {
    const bool is_named = kind == "plugin" || kind == "namespace";
    std::string id = row.value(is_named ? "Name" : kind == "variable" ? "Path" : "ID", "");
    if (id.starts_with(prefix)) ids.push_back(std::move(id));
  }
  std::ranges::sort(ids);
  return ids;
}

int change_shells(Run& run, bool is_install) {
  const char* home = std::getenv("HOME");
  if (!home || !*home) return run.fail("finding the shell's files", invalid_argument("HOME is not set"));
  std::error_code error;
  const std::string program = fs::read_symlink("/proc/self/exe", error).string();
  bool was_found = false;
  for (const bool is_zsh : {false, true}) {
    const std::string path = std::string(home) + (is_zsh ? "/.zshrc" : "/.bashrc");
    std::ifstream in(path);
    if (!in) continue;
    was_found = true;
    const std::string before((std::istreambuf_iterator<char>(in)), {});
    const std::string after =
        is_install ? with_completion(before, program, is_zsh) : without_completion(before, program, is_zsh);
    if (after == before) continue;
    std::ofstream out(path, std::ios::trunc);
    out << after << std::flush;
    if (!out) return run.fail("writing " + path, unavailable("the disk refused it"));
    run.out << (is_install ? "Completion is in " : "Completion is gone from ") << path << "; start a new shell\n";
  }
  if (!was_found)
    return run.fail("finding the shell's files", not_found("neither .bashrc nor .zshrc is in " + std::string(home)));
  return 0;
}

int autocomplete(Run& run) {
  if (run.arguments.on("install") || run.arguments.on("uninstall"))
    return change_shells(run, run.arguments.on("install"));
  const char* line = std::getenv("COMP_LINE");
  if (!line) return run.usage("the shell calls this; -install tells it to");
  std::string_view typed(line);
  if (const char* point = std::getenv("COMP_POINT")) typed = typed.substr(0, std::strtoul(point, nullptr, 10));
  Completions known;
  for (const auto& [name, synopsis] : run.host.commands()) known.commands.push_back(name);
  known.commands.insert(known.commands.end(),
                        {"agent", "plugin list", "plugin check", "plugin validate-config", "version"});
  known.help_of = [&run](const std::string& command) {
    const auto* found = static_cast<const Command*>(run.host.find_extension(Command::kExtensionPoint, command));
    return found ? found->help() : std::string();
  };
  known.ids_of = [&run](const std::string& kind, const std::string& prefix) {
    return look_up(run.client, kind, prefix);
  };
  for (const std::string& word : complete(typed, known)) run.out << word << "\n";
  return 0;
}

}  // namespace

std::vector<std::string> complete(std::string_view line, const Completions& known) {
  std::vector<std::string> words = words_of(line);
  if (words.size() < 2) return {};
  const std::string last = std::move(words.back());
  if (words[words.size() - 2] == "-namespace") return known.ids_of("namespace", last);
  std::string typed;  // the words of a command so far
  for (size_t i = 1; i + 1 < words.size() && !words[i].starts_with('-'); ++i) {
    const std::string next = typed.empty() ? words[i] : typed + " " + words[i];
    const bool is_command = std::ranges::any_of(
        known.commands, [&](const std::string& name) { return name == next || name.starts_with(next + " "); });
    if (!is_command) break;
    typed = next;
  }
  std::set<std::string> found;
  const std::string beginning = typed.empty() ? last : typed + " " + last;
  for (const std::string& name : known.commands) {
    if (!name.starts_with(beginning) || last.starts_with('-')) continue;
    const std::string rest = name.substr(typed.empty() ? 0 : typed.size() + 1);
    found.insert(rest.substr(0, rest.find(' ')));
  }
  if (!found.empty()) return {found.begin(), found.end()};
  if (std::ranges::find(known.commands, typed) == known.commands.end()) return {};
  return complete_argument(typed, last, known);
}

std::string without_completion(std::string text, const std::string& program, bool is_zsh) {
  erase_all(text, (is_zsh ? std::string(kZshNeeds) : std::string()) + line_for(program));
  return text;
}

std::string with_completion(std::string text, const std::string& program, bool is_zsh) {
  text = without_completion(std::move(text), program, is_zsh);
  if (!text.empty() && text.back() != '\n') text += '\n';
  return text + (is_zsh ? std::string(kZshNeeds) : std::string()) + line_for(program);
}

std::vector<Definition> autocomplete_commands() {
  return {
      {"autocomplete",
       "Completes commands, options and identifiers in the shell.",
       "",
       "  Also `drover -autocomplete-install` and `drover -autocomplete-uninstall`. For bash and zsh, whose files "
       ".bashrc and\n"
       "  .zshrc in the home folder are changed where they exist.\n",
       {on_off("install", "Add the completion to the shell's files"), on_off("uninstall", "Take it out of them again")},
       0,
       0,
       autocomplete}};
}

}  // namespace drover::cli
