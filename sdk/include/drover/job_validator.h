// Checks a job as registering it would, without servers: for tools that have none at hand. Provided by the jobs plugin;
// pure but for the machine's time zones, any thread.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "drover/result.h"

namespace drover {

class JobValidator {
 public:
  static constexpr std::string_view kExtensionPoint = "job_validator";
  virtual ~JobValidator() = default;

  struct Findings {
    std::string errors;  // as the API lists them, "2 errors occurred:" and a bullet each; empty when there are none
    std::string warnings;
  };
  // `json`: the job in the API's form. Errors: invalid_argument when it cannot be read.
  virtual Result<Findings> validate(std::string_view json) const = 0;
};

}  // namespace drover
