#include "driver_lookup.h"

#include <set>

namespace drover::agent {

std::vector<PluginSource*> plugin_sources(const Host& host) {
  std::vector<PluginSource*> sources;
  for (const std::string& name : host.extensions<PluginSource>()) sources.push_back(host.extension<PluginSource>(name));
  return sources;
}

std::vector<std::string> driver_names(const Host& host) {
  std::set<std::string> names;
  for (std::string& name : host.extensions<TaskDriver>()) names.insert(std::move(name));
  for (const PluginSource* source : plugin_sources(host)) {
    for (auto& driver : source->plugins<TaskDriver>()) names.insert(std::move(driver.name));
  }
  return {names.begin(), names.end()};
}

TaskDriver* find_driver(const Host& host, std::string_view name) {
  if (TaskDriver* driver = host.extension<TaskDriver>(name)) return driver;
  for (const PluginSource* source : plugin_sources(host)) {
    for (const auto& driver : source->plugins<TaskDriver>()) {
      if (driver.name == name) return driver.plugin;  // of several the newest
    }
  }
  return nullptr;
}

}  // namespace drover::agent
