// One input as a configuration file of the agent: read as `-config` names it, checked, settled, shown.
#include <sys/mman.h>
#include <unistd.h>

#include <string>
#include <string_view>
#include <vector>

#include "drover/agent_config.h"
#include "drover/machine_addresses.h"

void fuzz_agent_config(std::string_view input);

namespace {

// A file without a name on any disk.
drover::Result<drover::RawConfig> read(std::string_view input) {
  const int file = memfd_create("agent-config", MFD_CLOEXEC);
  DROVER_CHECK(file >= 0 && write(file, input.data(), input.size()) == static_cast<ssize_t>(input.size()));
  auto raw = drover::read_agent_arguments(std::vector<std::string>{"-config=/proc/self/fd/" + std::to_string(file)});
  close(file);
  return raw;
}

}  // namespace

void fuzz_agent_config(std::string_view input) {
  using namespace drover;
  static const DeclaredBlocks kDeclared = {
      {"client",
       {.options = {{.name = "meta", .type = ConfigType::string_map},
                    {.name = "host_volume", .type = ConfigType::labelled_block}}}},
      {"plugin:raw_exec", {.options = {{.name = "enabled", .type = ConfigType::boolean}}}}};
  const auto raw = read(input);
  if (!raw) return;
  for (const ConfigBlock* plugin : raw->root.all("plugin")) DROVER_CHECK(plugin->labels.size() == 1);
  std::vector<std::string> warnings;
  const auto checked = check_config(*raw, kDeclared, warnings);
  if (!checked) return;
  (void)agent_settings(*checked, true, {});
  (void)config_to_json(*raw, kDeclared, *checked);
}
