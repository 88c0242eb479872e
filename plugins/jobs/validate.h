// Every rule of the job specification that this version knows, all violations at once. Pure.
#pragma once

#include <string>
#include <vector>

namespace drover::v1 {
class Job;
}

namespace drover::jobs {

struct Findings {
  std::vector<std::string> errors;  // group["web"].task["app"].resources.cpu: must be at least 1
  std::vector<std::string> warnings;
};

// Requires: the job is canonical. What this version cannot carry out is an error, never silently left out.
Findings validate(const v1::Job& job);

}  // namespace drover::jobs
