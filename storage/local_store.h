// Each plugin's private key-value space on one machine's disk. LevelDB; the only file that includes it.
#pragma once

#include <memory>
#include <string>

#include "drover/plugin.h"
#include "drover/result.h"

namespace drover {

// One database for all plugins of an agent; a plugin sees its own keys only. [any]
class LocalDatabase {
 public:
  // Errors: failed_precondition when another agent has it open; data_loss when it is damaged.
  static Result<std::unique_ptr<LocalDatabase>> open(const std::string& folder);
  virtual ~LocalDatabase() = default;
  virtual std::unique_ptr<LocalStore> space(const std::string& plugin) = 0;
};

}  // namespace drover
