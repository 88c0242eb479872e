#include "driver_lookup.h"

#include <set>

namespace drover::agent {

std::vector<TaskDriverSource*> driver_sources(const Host& host) {
  std::vector<TaskDriverSource*> sources;
  for (const std::string& name : host.extensions<TaskDriverSource>())
    sources.push_back(host.extension<TaskDriverSource>(name));
  return sources;
}

std::vector<std::string> driver_names(const Host& host) {
  std::set<std::string> names;
  for (std::string& name : host.extensions<TaskDriver>()) names.insert(std::move(name));
  for (const TaskDriverSource* source : driver_sources(host)) {
    for (std::string& name : source->driver_names()) names.insert(std::move(name));
  }
  return {names.begin(), names.end()};
}

TaskDriver* find_driver(const Host& host, std::string_view name) {
  if (TaskDriver* driver = host.extension<TaskDriver>(name)) return driver;
  for (const TaskDriverSource* source : driver_sources(host)) {
    if (TaskDriver* driver = source->find_driver(name)) return driver;
  }
  return nullptr;
}

}  // namespace drover::agent
