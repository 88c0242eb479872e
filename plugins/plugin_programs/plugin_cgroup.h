// The control group of one plugin's process, where the operator limits what it may use: "drover-plugins/NAME" in every
// tree that has a controller for it. Processes that the plugin starts belong to it until somebody moves them. Thin file
// access; one owner.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "drover/cgroup.h"
#include "settings.h"

namespace drover::plugin_programs {

class PluginCgroup {
 public:
  PluginCgroup(const CgroupLayout& layout, const std::string& name, const PluginLimits& limits);

  // Makes it and writes the limits. Errors: failed_precondition with the limit that cannot be set here.
  Status prepare() const;
  std::vector<std::string> join_files() const { return group_.join_files(); }
  // When nothing is left in it.
  void remove() const { (void)group_.remove(); }

  struct Use {
    std::string folder;  // of the memory controller, or any
    uint64_t memory = 0;
    std::optional<uint64_t> cpu_ns;
    uint64_t processes = 0;
    uint64_t oom_kills = 0;
  };
  Use use() const;

 private:
  const CgroupLayout layout_;
  const PluginLimits limits_;
  const Cgroup group_;
};

}  // namespace drover::plugin_programs
