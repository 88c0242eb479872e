// Plugins that are programs of their own, and so come and go while the agent runs, by the interface of their kind.
//
//   for (const auto& [name, plugin] : source->plugins<DevicePlugin>()) …
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace drover {

template <typename Kind>
struct NamedPlugin {
  std::string name;
  Kind* plugin;
};

class PluginSource {
 public:
  static constexpr std::string_view kExtensionPoint = "plugin_source";
  virtual ~PluginSource() = default;

  // The plugins that have said their name so far; the name is the plugin's own, not its file's. Sorted by name; among
  // several with one name the newest version comes first. A plugin once given lives as long as the source; a call while
  // it has no process waits for the next one, or is unavailable. [any]
  template <typename Kind>
  std::vector<NamedPlugin<Kind>> plugins() const {
    std::vector<NamedPlugin<Kind>> out;
    for (auto& [name, plugin] : find_plugins(Kind::kExtensionPoint))
      out.push_back({std::move(name), static_cast<Kind*>(plugin)});
    return out;
  }
  // Calls back, from any thread, when a plugin of the kind has come or gone or says something else of itself. `changed`
  // must not block; an empty one ends it. One for each kind.
  template <typename Kind>
  void watch(std::function<void()> changed) {
    watch_plugins(Kind::kExtensionPoint, std::move(changed));
  }

 protected:
  // Pointers to the interface of the kind whose extension point it is.
  virtual std::vector<NamedPlugin<void>> find_plugins(std::string_view point) const = 0;
  virtual void watch_plugins(std::string_view point, std::function<void()> changed) = 0;
};

}  // namespace drover
