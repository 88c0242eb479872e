// One input as a configuration file of the agent: read, its plugins named, checked, shown.
#include <string_view>

#include "drover/agent_config.h"
#include "drover/log.h"
#include "../../sdk/src/config_value.h"

void fuzz_agent_config(std::string_view input);

void fuzz_agent_config(std::string_view input) {
  using namespace drover;
  static const DeclaredBlocks kDeclared = {
      {"client",
       {.options = {{.name = "meta", .type = ConfigType::string_map},
                    {.name = "host_volume", .type = ConfigType::labelled_block}}}},
      {"plugin:raw_exec", {.options = {{.name = "enabled", .type = ConfigType::boolean}}}}};
  auto parsed = parse_config("fuzz", std::string(input));
  if (!parsed) return;
  auto labelled = label_blocks(*std::move(parsed), "plugin");
  if (!labelled) return;
  RawConfig raw{.root = merge({}, *labelled)};
  for (const ConfigBlock* plugin : raw.root.all("plugin")) DROVER_CHECK(plugin->labels.size() == 1);
  std::vector<std::string> warnings;
  auto checked = check_config(raw, kDeclared, warnings);
  if (!checked) return;
  (void)settle(*checked, true);
  (void)config_to_json(raw, kDeclared, *checked);
}
