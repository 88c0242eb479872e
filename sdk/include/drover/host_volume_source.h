// Folders of this machine that are offered to tasks beside those of the agent's configuration: for the agent, which
// mounts them. Registered as declare.extend<HostVolumeSource>(name, source). [any]
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace drover {

class HostVolumeSource {
 public:
  static constexpr std::string_view kExtensionPoint = "host_volume_source";
  virtual ~HostVolumeSource() = default;
  // The path of the one that jobs of the namespace ask for by that name. Nothing: it is not offered to them.
  virtual std::optional<std::string> find(const std::string& name_space, const std::string& name) const = 0;
};

}  // namespace drover
