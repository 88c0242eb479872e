#include "scaling/rows.h"

#include <map>
#include <utility>

#include "drover/api/jobs.pb.h"
#include "drover/schema.h"
#include "drover/v1/job.pb.h"
#include "scaling/scaling.h"

namespace drover::jobs {
namespace {

std::string target(const v1::ScalingPolicy& policy, const char* name) {
  const auto at = policy.target().find(name);
  return at == policy.target().end() ? "" : at->second;
}

std::string policy_key(const v1::ScalingPolicy& policy) { return job_key(target(policy, "Namespace"), policy.id()); }

}  // namespace

Status ScalingTables::declare(Declarations& declarations) {
  DROVER_TRY(
      policies,
      declarations.table<v1::ScalingPolicy>(
          "scaling_policies", {{"job"}, {.name = "id", .unique = true}},
          [](const v1::ScalingPolicy& policy, RowKeys& keys) {
            keys.primary(policy_key(policy));
            keys.add(
                kPoliciesByJob,
                KeyBuilder().text(target(policy, "Namespace")).text(target(policy, "Job")).text(policy.id()).take());
            keys.add(kPoliciesById, policy.id());
          }));
  DROVER_TRY(events, declarations.table<v1::JobScalingEvents>("scaling_events", {},
                                                              [](const v1::JobScalingEvents& row, RowKeys& keys) {
                                                                keys.primary(job_key(row.namespace_(), row.job_id()));
                                                              }));
  return ok_status();
}

Status ScalingTables::follow(const v1::Job& job, ApplyContext& context) const {
  WriteTransaction& rows = context.rows();
  std::map<std::string, v1::ScalingPolicy> before;
  policies.scan(rows, kPoliciesByJob, of_job(job.namespace_(), job.id()),
                [&](v1::ScalingPolicy& policy, std::string_view) {
                  std::string key = policy_key(policy);
                  return before.emplace(std::move(key), std::move(policy)), true;
                });
  for (v1::ScalingPolicy& policy : policies_of(job)) {
    const auto old = before.extract(policy_key(policy));
    policy.set_create_index(old ? old.mapped().create_index() : context.index());
    policy.set_modify_index(old ? old.mapped().modify_index() : context.index());
    if (old && serialize(policy) == serialize(old.mapped())) continue;
    policy.set_modify_index(context.index());
    DROVER_RETURN_IF_ERROR(policies.put(rows, policy));
  }
  for (const auto& [key, policy] : before) policies.erase(rows, key);
  return ok_status();
}

Status ScalingTables::write_down(const v1::Job& job, const std::string& group, v1::ScalingEvent event,
                                 ApplyContext& context) const {
  const auto kept = events.get(context.rows(), job_key(job.namespace_(), job.id()));
  v1::JobScalingEvents row = kept ? *kept : v1::JobScalingEvents();
  row.set_namespace_(job.namespace_());
  row.set_job_id(job.id());
  row.set_modify_index(context.index());
  event.set_create_index(context.index());
  add_event(row, group, std::move(event));
  return events.put(context.rows(), row);
}

void ScalingTables::forget(std::string_view name_space, std::string_view job_id, ApplyContext& context) const {
  WriteTransaction& rows = context.rows();
  std::vector<std::string> keys;
  policies.scan(rows, kPoliciesByJob, of_job(name_space, job_id),
                [&](v1::ScalingPolicy& policy, std::string_view) { return keys.push_back(policy_key(policy)), true; });
  for (const std::string& key : keys) policies.erase(rows, key);
  events.erase(rows, job_key(name_space, job_id));
}

}  // namespace drover::jobs
