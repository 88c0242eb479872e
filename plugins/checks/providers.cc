#include "providers.h"

#include "drover/plugin.h"
#include "drover/plugin_source.h"

#include "drover/v1/check_provider.pb.h"

namespace drover::checks {
namespace {

std::vector<PluginSource*> sources_of(const Host& host) {
  std::vector<PluginSource*> sources;
  for (const std::string& name : host.extensions<PluginSource>()) sources.push_back(host.extension<PluginSource>(name));
  return sources;
}

// The providers in the order in which they are asked.
std::vector<CheckProvider*> providers_of(const Host& host) {
  std::vector<CheckProvider*> out;
  for (const std::string& name : host.extensions<CheckProvider>()) out.push_back(host.extension<CheckProvider>(name));
  for (const PluginSource* source : sources_of(host)) {
    for (const auto& each : source->plugins<CheckProvider>()) out.push_back(each.plugin);
  }
  return out;
}

std::map<std::string, Providers::Found> table_of(const Host& host) {
  std::map<std::string, Providers::Found> found;
  for (CheckProvider* provider : providers_of(host)) {
    for (const v1::CheckType& type : provider->types()) {
      Providers::Found& row = found[type.name()];
      if (!row.provider) row = {.provider = provider, .type = std::make_shared<const v1::CheckType>(type)};
    }
  }
  return found;
}

}  // namespace

void Providers::start(Host& host, std::function<void()> changed) {
  host_ = &host;
  {
    const MutexLock lock(mutex_);
    changed_ = std::move(changed);
  }
  for (PluginSource* source : sources_of(host)) {
    source->watch<CheckProvider>([this] {
      std::function<void()> told;
      {
        const MutexLock lock(mutex_);
        is_stale_ = true;
        told = changed_;
      }
      if (told) told();
    });
  }
}

void Providers::stop() {
  if (!host_) return;
  for (PluginSource* source : sources_of(*host_)) source->watch<CheckProvider>({});
  const MutexLock lock(mutex_);
  changed_ = {};
}

Providers::Found Providers::find(const std::string& type) const {
  {
    const MutexLock lock(mutex_);
    if (!is_stale_) {
      const auto at = found_.find(type);
      return at == found_.end() ? Found() : at->second;
    }
  }
  (void)types();
  const MutexLock lock(mutex_);
  const auto at = found_.find(type);
  return at == found_.end() ? Found() : at->second;
}

std::vector<std::string> Providers::types() const {
  if (!host_) return {};
  auto found = table_of(*host_);  // asks the plugins: without the lock
  std::vector<std::string> names;
  names.reserve(found.size());
  for (const auto& [name, row] : found) names.push_back(name);
  const MutexLock lock(mutex_);
  found_ = std::move(found);
  is_stale_ = false;
  return names;
}

}  // namespace drover::checks
