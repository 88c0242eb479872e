#include "launch.h"

#include <utility>

#include "drover/model/evaluation.h"
#include "drover/v1/commands.pb.h"
#include "drover/v1/job.pb.h"
#include "periodic.pb.h"

namespace drover::periodic {
namespace {

constexpr int64_t kSecond = 1'000'000'000;

}  // namespace

v1::Job child_of(const v1::Job& job, int64_t launch) {
  v1::Job child = job;
  child.set_id(job.id() + "/periodic-" + std::to_string(launch / kSecond));
  child.set_name(child.id());
  child.set_parent_id(job.id());
  child.clear_periodic();
  child.clear_dispatch_idempotency_token();
  child.clear_status();
  child.clear_status_description();
  return child;
}

v1::PeriodicLaunched launch_of(const v1::Job& job, int64_t launch, std::string eval_id, int64_t now) {
  v1::PeriodicLaunched command;
  command.set_namespace_(job.namespace_());
  command.set_job_id(job.id());
  command.set_launch(launch);
  v1::JobRegistered& child = *command.mutable_child();
  *child.mutable_job() = child_of(job, launch);
  *child.mutable_evaluation() = new_evaluation(std::move(eval_id), child.job(), "periodic-job");
  child.set_time(now);
  return command;
}

}  // namespace drover::periodic
