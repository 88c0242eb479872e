#include "jobs/launch_text.h"

#include "drover/model/job.h"
#include "drover/model/periodic.h"
#include "drover/v1/job.pb.h"
#include "output.h"

namespace drover::cli {

std::string next_launch_text(const v1::Job& job) {
  if (!is_periodic(job) || is_parameterized(job) || job.stop()) return "";
  v1::PeriodicConfig config = job.periodic();
  if (!config.has_enabled()) config.set_enabled(true);  // of a file, without what the servers fill in
  const int64_t now = now_ns();
  const auto next = next_launch(config, now);
  if (!next || !*next) return "";
  return full_time(**next) + " (" + relative_time(**next, now) + ")";
}

}  // namespace drover::cli
