#include "plugin_options.h"

namespace drover {
namespace {

using Type = ConfigType;

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

}  // namespace drover
