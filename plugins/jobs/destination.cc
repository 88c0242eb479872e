#include "destination.h"

#include <string>

#include "drover/v1/job.pb.h"

namespace drover::jobs {
namespace {

constexpr std::string_view kGlobal = "global";
constexpr std::string_view kDefault = "default";

}  // namespace

Status resolve_destination(v1::Job& job, const QueryOptions& query, std::string_view own_region) {
  if (!query.name_space.empty() && query.name_space != kDefault) job.set_namespace_(query.name_space);
  if (job.namespace_().empty()) job.set_namespace_(std::string(kDefault));

  // A call that names another region does not come here.
  const bool is_own = !query.region.empty() || job.region().empty() || job.region() == kGlobal;
  if (!is_own && job.region() != own_region) {
    const std::string own(own_region.empty() ? kGlobal : own_region);
    return failed_precondition("No path to region \"" + job.region() +
                               "\", which the job names; this is the region \"" + own + "\"");
  }
  job.set_region(std::string(own_region));
  return ok_status();
}

}  // namespace drover::jobs
