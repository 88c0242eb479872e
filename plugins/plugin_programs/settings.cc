#include "settings.h"

#include "drover/config.h"
#include "drover/launcher.h"

namespace drover::plugin_programs {

PluginSettings settings_of(const ConfigBlock& configuration, std::string_view plugin) {
  PluginSettings out;
  const ConfigBlock* const block = configuration.block("plugin", plugin);
  if (!block) return out;
  out.arguments = block->string_list("args");
  out.asks_for_tls = block->boolean("auto_mtls", false);
  out.digests = block->string_list("digest");
  out.user = block->string("user");
  out.no_new_privileges = block->boolean("no_new_privileges", !out.user.empty());
  if (block->has("oom_score")) out.oom_score = static_cast<int>(block->integer("oom_score"));
  if (block->has("grants")) out.grants = block->string_list("grants");
  if (const ConfigBlock* limits = block->block("limits")) {
    out.limits.memory = limits->bytes("memory");
    out.limits.processes = static_cast<uint64_t>(limits->integer("processes"));
    out.limits.cpu = limits->number("cpu");
    out.limits.open_files = static_cast<uint64_t>(limits->integer("open_files", 65'536));
  }
  if (const ConfigBlock* config = block->block("config")) out.config = value_of(*config);
  return out;
}

Result<Confinement> confinement_of(const PluginSettings& settings) {
  Confinement out{.open_files = settings.limits.open_files,
                  .no_new_privileges = settings.no_new_privileges,
                  .oom_score = settings.oom_score};
  if (settings.user.empty()) return out;
  DROVER_TRY(const Launcher::User user, find_user(settings.user));
  out.user = Confinement::User{.id = user.id, .group = user.group, .groups = user.groups};
  return out;
}

}  // namespace drover::plugin_programs
