#include "dispatch/rpc.h"

#include "dispatch/dispatch.h"
#include "drover/api/jobs.pb.h"
#include "drover/schema.h"
#include "drover/uuid.h"
#include "drover/v1/commands.pb.h"
#include "jobs.pb.h"
#include "registration.h"

namespace drover::jobs {

std::vector<MethodBinding> DispatchHandlers::methods() {
  return {method<&DispatchHandlers::dispatch>("Dispatch", this)};
}

void DispatchHandlers::start(Host& host, int32_t highest_priority) {
  host_ = &host;
  highest_priority_ = highest_priority;
}

Result<Write<v1::DispatchJobResponse>> DispatchHandlers::dispatch(const v1::DispatchJobRequest& request, Call& call) {
  DROVER_RETURN_IF_ERROR(may_register(call, call.view(), *host_));
  if (!request.job_id().empty() && request.job_id() != request.path_job_id()) {
    return invalid_argument("Job ID does not match");
  }
  const auto parent = tables_.jobs.get(call.view(), job_key(call.query().name_space, request.path_job_id()));
  if (!parent) return not_found("parameterized job not found");
  DROVER_RETURN_IF_ERROR(check_dispatch(*parent, request, highest_priority_));

  const int64_t now = host_->clock().wall_ns();
  v1::JobDispatched command;
  const std::string suffix = Uuid::random().short_string();
  *command.mutable_child() = registration_of(dispatched_child(*parent, request, now, suffix), "job-register", now);
  v1::DispatchJobResponse response;
  response.set_eval_id(command.child().evaluation().id());
  return Write<v1::DispatchJobResponse>(
      command, [response](const Applied& applied) mutable -> Result<v1::DispatchJobResponse> {
        DROVER_TRY(v1::JobDispatchedAnswer answer, parse_message<v1::JobDispatchedAnswer>(applied.answer));
        response.set_dispatched_job_id(answer.job_id());
        response.set_job_create_index(answer.job_create_index());
        if (answer.existed()) response.clear_eval_id();
        if (!response.eval_id().empty()) response.set_eval_create_index(applied.index);
        return response;
      });
}

}  // namespace drover::jobs
