// Turns the text of a job file into a job. Provided by the jobspec plugin; pure, any thread.
#pragma once

#include <map>
#include <string>
#include <string_view>

#include "drover/result.h"

namespace drover {

class JobParser {
 public:
  static constexpr std::string_view kExtensionPoint = "job_parser";
  virtual ~JobParser() = default;

  struct Options {
    std::string file_name = "job.hcl";             // for messages
    std::map<std::string, std::string> variables;  // -var and the environment, by name
  };
  // `source` in HCL's native syntax, its JSON syntax, or the API's JSON form ({"Job": …} or {"ID": …}), told apart by
  // content. Returns the job in the API's JSON form, without defaults filled in.
  // Errors: invalid_argument with every problem found, each with line, column and excerpt.
  virtual Result<std::string> parse(std::string_view source, const Options& options) const = 0;
};

}  // namespace drover
