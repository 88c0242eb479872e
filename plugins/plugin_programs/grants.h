// The methods of the agent that one plugin may call: a list that the operator grants, "drover.v1.Nodes/List". The
// router asks it for each call that the plugin makes. [any]
#pragma once

#include <map>
#include <string>
#include <vector>

#include "drover/methods.h"
#include "drover/metrics.h"
#include "drover/mutex.h"

namespace drover::plugin_programs {

inline constexpr std::string_view kLogMethod = "drover.v1.PluginHost/Log";

class Grants final : public CallGate {
 public:
  // `plugin`: its name, for messages and metrics.
  Grants(std::string plugin, const std::vector<std::string>& methods, Metrics& metrics);

  // "/drover.v1.Nodes/List" or without the slash. Counts. Errors: permission_denied with the line to add.
  Status admit(std::string_view method) override;

  struct Counts {
    std::map<std::string, uint64_t> used;     // every granted method
    std::map<std::string, uint64_t> refused;  // at most 100 different ones
  };
  Counts counts() const;

 private:
  const std::string plugin_;
  Metrics& metrics_;
  mutable Mutex mutex_;
  std::map<std::string, uint64_t, std::less<>> used_ DROVER_GUARDED_BY(mutex_);  // every granted method
  std::map<std::string, uint64_t, std::less<>> refused_ DROVER_GUARDED_BY(mutex_);
};

// The granted methods, which are all among `known` ("/drover.v1.Nodes/List") or kLogMethod. Errors: invalid_argument
// that names the nearest one. Pure.
Status check_grants(const std::vector<std::string>& grants, const std::vector<std::string>& known);

}  // namespace drover::plugin_programs
