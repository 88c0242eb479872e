// Something that is read anew while the agent runs.
#pragma once

#include <string_view>

namespace drover {

class Reloadable {
 public:
  static constexpr std::string_view kExtensionPoint = "reloadable";
  virtual ~Reloadable() = default;
  // The agent got SIGHUP. Returns soon; what takes time goes on elsewhere. Between start and stop of the plugin. [main]
  virtual void reload() = 0;
};

}  // namespace drover
