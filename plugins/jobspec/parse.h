// The text of a job file to a job in the API's JSON form. Pure but for the file functions, any thread.
#pragma once

#include "drover/job_parser.h"

namespace drover::jobspec {

class Parser final : public JobParser {
 public:
  Result<Parsed> parse(std::string_view source, const Options& options) const override;
};

}  // namespace drover::jobspec
