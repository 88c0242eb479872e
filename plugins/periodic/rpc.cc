#include "rpc.h"

#include "drover/api/periodic.pb.h"
#include "drover/model/job.h"
#include "drover/schema.h"
#include "drover/uuid.h"
#include "drover/v1/commands.pb.h"
#include "drover/v1/job.pb.h"
#include "launch.h"
#include "periodic.pb.h"
#include "timetable.h"

namespace drover::periodic {

Status Rpc::declare(Declarations& declare) {
  return declare.service("drover.v1.Periodic", {method<&Rpc::force>("Force", this)});
}

Result<Write<v1::ForcePeriodicResponse>> Rpc::force(const v1::ForcePeriodicRequest& request, Call& call) {
  const auto job = tables_.jobs.get(call.view(), job_key(call.query().name_space, request.job_id()));
  if (!job) return not_found("job not found");
  if (!is_periodic(*job)) return invalid_argument("can't force launch non-periodic job");
  if (!is_launched_by_time(*job)) {
    return failed_precondition("can't force run non-tracked job \"" + job->id() + "\" (" + job->namespace_() + ")");
  }
  const int64_t now = host_->clock().wall_ns();
  const v1::PeriodicLaunched command = launch_of(*job, now, Uuid::random().bytes(), now);
  v1::ForcePeriodicResponse response;
  response.set_eval_id(command.child().evaluation().id());
  return Write<v1::ForcePeriodicResponse>(command, [response](const Applied& applied) mutable {
    response.set_eval_create_index(applied.index);
    return response;
  });
}

}  // namespace drover::periodic
