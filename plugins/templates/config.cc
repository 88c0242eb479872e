#include "config.h"

namespace drover::templates {
namespace {

using Type = ConfigType;

ConfigOption wait_block(std::string name, std::string min, std::string max, std::string help) {
  return {.name = std::move(name),
          .type = Type::block,
          .help = std::move(help),
          .options = {{.name = "min",
                       .type = Type::duration,
                       .default_text = std::move(min),
                       .help = "Time that nothing more changes.",
                       .min = 0},
                      {.name = "max",
                       .type = Type::duration,
                       .default_text = std::move(max),
                       .help = "Longest time from the first change.",
                       .min = 0}}};
}

Result<Wait> wait_of(const ConfigBlock& block) {
  const Wait wait{block.duration("min"), block.duration("max")};
  if (wait.min > wait.max) {
    return invalid_argument(block.place.to_string() + ": client.template." + block.name + ": min is above max");
  }
  return wait;
}

}  // namespace

ConfigOption template_block() {
  return {.name = "template",
          .type = Type::block,
          .help = "Templates of tasks on this node.",
          .options = {{.name = "function_denylist",
                       .type = Type::string_list,
                       .help = "Functions that no template may call. Default: plugin, writeToFile."},
                      {.name = "function_blacklist", .type = Type::string_list, .help = "The same, its former name."},
                      {.name = "disable_file_sandbox",
                       .type = Type::boolean,
                       .default_text = "false",
                       .help = "Templates may read and write all files of this machine."},
                      wait_block("wait", "5s", "4m", "For templates without a block wait."),
                      wait_block("wait_bounds", "0s", "4m", "Bounds of what templates say in their block wait."),
                      {.name = "max_stale", .type = Type::duration},
                      {.name = "block_query_wait", .type = Type::duration},
                      {.name = "consul_retry", .type = Type::any},
                      {.name = "vault_retry", .type = Type::any},
                      {.name = "nomad_retry", .type = Type::any}},
          .api_name = "TemplateConfig"};
}

Result<Config> template_config(const ConfigBlock* client) {
  Config config;
  const ConfigBlock* block = client ? client->block("template") : nullptr;
  if (!block) return config;
  for (const char* name : {"function_denylist", "function_blacklist"}) {
    if (!block->has(name)) continue;
    const auto names = block->string_list(name);
    config.denied = {names.begin(), names.end()};
  }
  config.is_sandboxed = !block->boolean("disable_file_sandbox");
  if (const ConfigBlock* wait = block->block("wait")) {
    DROVER_TRY(config.wait, wait_of(*wait));
  }
  if (const ConfigBlock* bounds = block->block("wait_bounds")) {
    DROVER_TRY(config.bounds, wait_of(*bounds));
  }
  return config;
}

}  // namespace drover::templates
