#include "drover/model/allocation.h"

#include "drover/model/job.h"
#include "drover/v1/allocation.pb.h"
#include "drover/v1/job.pb.h"

namespace drover {
namespace {

// Its place may still be filled again, by the attempts that it remembers.
bool awaits_rescheduling(const v1::Allocation& alloc, const v1::Job* job, int64_t now_ns) {
  if (!job || job->stop() || job->status() == v1::JOB_STATUS_DEAD || server_terminal(alloc)) return false;
  if (alloc.client_status() != v1::CLIENT_STATUS_FAILED || !alloc.next_allocation().empty()) return false;
  const v1::TaskGroup* group = find_group(*job, alloc.task_group());
  if (!group) return false;
  const v1::ReschedulePolicy& policy = group->reschedule_policy();
  if (policy.unlimited()) return true;
  const auto& events = alloc.reschedule_tracker().events();
  return policy.attempts() > 0 &&
         (events.empty() || now_ns - events[events.size() - 1].reschedule_time() <= policy.interval());
}

}  // namespace

bool server_terminal(const v1::Allocation& alloc) {
  return alloc.desired_status() == v1::DESIRED_STATUS_STOP || alloc.desired_status() == v1::DESIRED_STATUS_EVICT;
}

bool client_terminal(v1::ClientStatus status) {
  return status == v1::CLIENT_STATUS_COMPLETE || status == v1::CLIENT_STATUS_FAILED || status == v1::CLIENT_STATUS_LOST;
}

bool client_terminal(const v1::Allocation& alloc) { return client_terminal(alloc.client_status()); }

bool terminal(const v1::Allocation& alloc) { return server_terminal(alloc) || client_terminal(alloc); }

bool may_be_forgotten(const v1::Allocation& alloc, const v1::Job* job, int64_t now_ns) {
  return terminal(alloc) && alloc.client_status() != v1::CLIENT_STATUS_RUNNING &&
         !awaits_rescheduling(alloc, job, now_ns);
}

}  // namespace drover
