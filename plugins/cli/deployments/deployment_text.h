// How commands show deployments. Pure.
#pragma once

#include <string>
#include <vector>

namespace drover::v1 {
class Deployment;
}

namespace drover::cli {

// The columns of a list of deployments, and a row of it.
extern const std::vector<std::string> kDeploymentColumns;
std::vector<std::string> deployment_row(const v1::Deployment& deployment, bool verbose);

// All about one: what it is, and its groups. `with_job`: also of which job and version, where that is not said above.
std::string deployment_text(const v1::Deployment& deployment, bool with_job, bool verbose);

// "healthy", "unhealthy", "unset"
template <typename Alloc>
std::string health_of(const Alloc& alloc) {
  if (!alloc.deployment_status().has_healthy()) return "unset";
  return alloc.deployment_status().healthy() ? "healthy" : "unhealthy";
}

}  // namespace drover::cli
