#include "method_plugins.h"

#include "drover/object_name.h"
#include "drover/plugin.h"
#include "drover/plugin_source.h"

namespace drover::login {
namespace {

bool is_same_type(const std::string& one, std::string_view other) {
  return lower_case(one) == lower_case(std::string(other));
}

}  // namespace

AuthMethod* plugin_of_type(const Host& host, std::string_view type) {
  if (type.empty()) return nullptr;
  for (const std::string& name : host.extensions<AuthMethod>()) {
    AuthMethod* const plugin = host.extension<AuthMethod>(name);
    if (is_same_type(plugin->type(), type)) return plugin;
  }
  for (const std::string& name : host.extensions<PluginSource>()) {
    for (const auto& each : host.extension<PluginSource>(name)->plugins<AuthMethod>()) {
      if (is_same_type(each.plugin->type(), type)) return each.plugin;
    }
  }
  return nullptr;
}

}  // namespace drover::login
