#include "programs/program_settings.h"

#include <algorithm>

#include "drover/config.h"
#include "drover/sha256.h"
#include "paths.h"

namespace drover::mounts {
namespace {

using Type = ConfigType;

constexpr size_t kDigestDigits = 32;

// Problems of all blocks, one a line.
class Problems {
 public:
  void add(const ConfigPlace& place, const std::string& text) {
    text_ += (text_.empty() ? "" : "\n") + place.to_string() + ": " + text;
  }
  Status status() const { return text_.empty() ? ok_status() : invalid_argument(text_); }

 private:
  std::string text_;
};

const ConfigPlace& place_of(const ConfigBlock& block, std::string_view option) {
  const auto at = block.attributes.find(option);
  return at == block.attributes.end() || at->second.place.line == 0 ? block.place : at->second.place;
}

ProgramSettings program_of(const std::string& name, const ConfigBlock& config) {
  ProgramSettings out{.name = name,
                      .command = config.string("command"),
                      .id = config.string("id", name),
                      .type = config.string("type")};
  out.arguments = config.string_list("args");
  for (const auto& [key, value] : config.string_map("env")) out.environment[key] = value;
  out.health_timeout = config.duration("health_timeout", out.health_timeout);
  return out;
}

void check_settings(const ProgramSettings& settings, const ConfigBlock& config, Problems& problems) {
  const std::string whose = "plugin \"" + settings.name + "\": ";
  if (!settings.command.starts_with('/')) {
    problems.add(place_of(config, "command"),
                 whose + "command \"" + settings.command +
                     "\" is no absolute path; write where the program lies on this machine");
  }
  if (const auto part = path_part(settings.id); !part)
    problems.add(place_of(config, "id"), whose + "id: " + part.status().message());
  if (const auto part = path_part(settings.name); !part) problems.add(config.place, whose + part.status().message());
  for (const auto& [name, value] : settings.environment) {
    if (name == "CSI_ENDPOINT") {
      problems.add(place_of(config, "env"),
                   whose + "the agent says where the socket is: leave CSI_ENDPOINT out of env");
    } else if (name.empty() || name.find('=') != name.npos) {
      problems.add(place_of(config, "env"), whose + "\"" + name + "\" is no name of a variable");
    }
  }
}

// Two that would answer for the same side of one plugin.
void check_apart(const ProgramSettings& one, const std::vector<ProgramSettings>& before, const ConfigBlock& config,
                 Problems& problems) {
  const auto same = std::ranges::find_if(before, [&](const ProgramSettings& other) {
    return other.id == one.id &&
           ((other.has_node() && one.has_node()) || (other.has_controller() && one.has_controller()));
  });
  if (same == before.end()) return;
  problems.add(config.place, "plugin \"" + one.name + "\" and plugin \"" + same->name + "\" are both the " +
                                 (same->has_node() && one.has_node() ? "node" : "controller") + " plugin \"" + one.id +
                                 "\"; give one of them another id or type");
}

}  // namespace

ConfigSchema program_schema() {
  return {.options = {
              {.name = "command", .help = "The program, by its absolute path.", .required = true},
              {.name = "args", .type = Type::string_list, .help = "Its arguments."},
              {.name = "env",
               .type = Type::string_map,
               .help = "Its environment, beside PATH and CSI_ENDPOINT. Never shown.",
               .is_secret = true},
              {.name = "type",
               .help = "The part of a storage plugin that it is.",
               .required = true,
               .one_of = {"node", "controller", "monolith"}},
              {.name = "id", .help = "The plugin's name in the cluster; that of the block, unless said."},
              {.name = "health_timeout",
               .type = Type::duration,
               .default_text = "30s",
               .help = "Time to become ready; after it the program is started again.",
               .min = 1},
          }};
}

Result<std::vector<ProgramSettings>> read_programs(const ConfigBlock& configuration) {
  std::vector<ProgramSettings> out;
  Problems problems;
  for (const ConfigBlock* block : configuration.all("plugin")) {
    if (block->string("kind") != kProgramKind || !block->boolean("enabled", true)) continue;
    const ConfigBlock* const config = block->block("config");
    if (!config) continue;  // the schema requires it
    ProgramSettings settings = program_of(block->labels.front(), *config);
    check_settings(settings, *config, problems);
    check_apart(settings, out, *config, problems);
    out.push_back(std::move(settings));
  }
  DROVER_RETURN_IF_ERROR(problems.status());
  return out;
}

std::string digest_of(const ProgramSettings& settings) {
  Sha256 sum;
  const auto add = [&](std::string_view text) {
    sum.add(std::to_string(text.size()) + ":");
    sum.add(text);
  };
  for (const std::string* text : {&settings.command, &settings.id, &settings.type}) add(*text);
  add(std::to_string(settings.arguments.size()));
  for (const std::string& argument : settings.arguments) add(argument);
  for (const auto& [name, value] : settings.environment) {
    add(name);
    add(value);
  }
  return to_hex(sum.take()).substr(0, kDigestDigits);
}

}  // namespace drover::mounts
