#include "plugin_options.h"

#include <algorithm>
#include <iterator>

namespace drover {
namespace {

using Type = ConfigType;

// The kinds of plugins that the operator describes whole, and the role of the agent that runs them.
struct Kind {
  std::string_view name, role;
};
constexpr Kind kKinds[] = {{"csi", "client"}};

std::vector<std::string> kind_names() {
  std::vector<std::string> names;
  for (const Kind& kind : kKinds) names.emplace_back(kind.name);
  return names;
}

std::vector<ConfigOption> limits() {
  return {
      {.name = "memory",
       .type = Type::bytes,
       .help = "Memory of the program and of what it starts without moving it elsewhere."},
      {.name = "processes", .type = Type::integer, .help = "Processes and threads of these.", .min = 1},
      {.name = "cpu", .type = Type::number, .help = "Processors that these may use, 0.5: half of one.", .min = 0.01},
      {.name = "open_files",
       .type = Type::integer,
       .default_text = "65536",
       .help = "Descriptors of the process; what it starts inherits it.",
       .min = 64}};
}

}  // namespace

std::vector<ConfigOption> plugin_options() {
  return {{.name = "enabled", .type = Type::boolean, .help = "Load this plugin."},
          {.name = "kind",
           .type = Type::string,
           .help = "Of a program that the agent runs as `config` says, under any name: csi, a storage plugin.",
           .one_of = kind_names()},
          {.name = "args", .type = Type::string_list, .help = "Arguments of the program."},
          {.name = "auto_mtls",
           .type = Type::boolean,
           .default_text = "false",
           .help = "Ask the program for TLS on its socket (go-plugin's AutoMTLS)."},
          {.name = "digest",
           .type = Type::string_list,
           .help = "SHA-256 that the plugin's file must have, in hexadecimal; of several, one."},
          {.name = "user",
           .type = Type::string,
           .help = "User, by name or number, that the program runs as; empty: the agent's."},
          {.name = "no_new_privileges",
           .type = Type::boolean,
           .help = "True: programs with the set-user bit give the plugin and its tasks no rights. Unless said, true "
                   "where `user` is set."},
          {.name = "oom_score",
           .type = Type::integer,
           .help = "Rank for being ended when the machine is short of memory: oom_score_adj, which its tasks inherit.",
           .min = -1000,
           .max = 1000},
          {.name = "grants",
           .type = Type::string_list,
           .help = "Methods that a plugin inside the agent may call, \"drover.v1.Nodes/List\". Unless said, "
                   "\"drover.v1.PluginHost/Log\" only."},
          {.name = "limits", .type = Type::block, .options = limits()},
          {.name = "config", .type = Type::any}};
}

namespace {

// Those of the shared options that somebody set and that are for other plugins.
Status refuse_others(const ConfigBlock& raw, const std::string& kind) {
  std::string problems;
  for (const ConfigOption& option : plugin_options()) {
    if (option.name == "enabled" || option.name == "kind" || option.name == "config") continue;
    const auto attribute = raw.attributes.find(option.name);
    const ConfigBlock* const block = raw.block(option.name);
    if (attribute == raw.attributes.end() && !block) continue;
    const ConfigPlace& place = block ? block->place : attribute->second.place;
    problems += (problems.empty() ? "" : "\n") + place.to_string() + ": option \"" + option.name +
                "\" in block \"plugin\" \"" + raw.labels.front() +
                "\" is for plugins without a kind; what a plugin of the kind " + kind +
                " takes stands in its block config";
  }
  return problems.empty() ? ok_status() : invalid_argument(std::move(problems));
}

std::string named(const ConfigBlock& raw) { return raw.place.to_string() + ": plugin \"" + raw.labels.front() + "\""; }

}  // namespace

Status check_plugin_kind(const ConfigBlock& raw, ConfigBlock& plugin, const ConfigBlock& agent,
                         const DeclaredBlocks& declared, std::vector<std::string>& warnings) {
  const std::string kind = plugin.string("kind");
  if (kind.empty()) return ok_status();
  if (declared.contains("plugin:" + raw.labels.front()))
    return invalid_argument(named(raw) + " is a part of the agent and has no kind: give this one another name");
  DROVER_RETURN_IF_ERROR(refuse_others(raw, kind));
  const std::string_view role = std::ranges::find(kKinds, kind, &Kind::name)->role;
  const ConfigBlock* const own = agent.block(role);
  const bool has_role = own && own->boolean("enabled");
  if (!has_role) {
    warnings.push_back(named(raw) + " is not run: an agent runs plugins of the kind " + kind + " with " +
                       std::string(role) + " { enabled = true }");
  }
  const auto schema = declared.find(std::string(kPluginKind) + kind);
  if (schema == declared.end()) {
    if (!has_role || !plugin.boolean("enabled", true)) return ok_status();
    return failed_precondition(named(raw) + ": the part of the agent that runs plugins of the kind " + kind +
                               " is switched off or not installed");
  }
  ConfigBlock config{.labels = raw.labels, .place = raw.place};
  if (auto attribute = plugin.attributes.extract("config")) config.attributes.insert(std::move(attribute));
  const auto stays = [](const ConfigBlock& block) { return block.name != "config"; };
  const auto inner = std::stable_partition(plugin.blocks.begin(), plugin.blocks.end(), stays);
  std::move(inner, plugin.blocks.end(), std::back_inserter(config.blocks));
  plugin.blocks.erase(inner, plugin.blocks.end());
  DROVER_TRY(
      config,
      apply_schema(
          config,
          {.options = {{.name = "config", .type = Type::block, .required = true, .options = schema->second.options}}}));
  std::ranges::move(config.blocks, std::back_inserter(plugin.blocks));
  return ok_status();
}

}  // namespace drover
