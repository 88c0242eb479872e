#include "dispatch/dispatch.h"

#include <algorithm>
#include <set>
#include <string>

#include "drover/api/jobs.pb.h"
#include "drover/model/job.h"
#include "drover/v1/job.pb.h"

namespace drover::jobs {
namespace {

constexpr int64_t kSecond = 1'000'000'000;

std::string listed(const std::set<std::string>& keys) {
  std::string text;
  for (const std::string& key : keys) text += (text.empty() ? "" : " ") + key;
  return "[" + text + "]";
}

Status check_payload(const std::string& rule, const std::string& payload) {
  if (rule == "required" && payload.empty()) {
    return invalid_argument("Payload is not provided but required by parameterized job");
  }
  if (rule == "forbidden" && !payload.empty()) {
    return invalid_argument("Payload provided but forbidden by parameterized job");
  }
  if (payload.size() > kMaxPayload) {
    return invalid_argument("Payload exceeds maximum size; " + std::to_string(payload.size()) + " > " +
                            std::to_string(kMaxPayload));
  }
  return ok_status();
}

Status check_meta(const v1::ParameterizedJob& rules, const v1::DispatchJobRequest& request) {
  const std::set<std::string> required(rules.meta_required().begin(), rules.meta_required().end());
  const std::set<std::string> optional(rules.meta_optional().begin(), rules.meta_optional().end());
  std::set<std::string> unpermitted, missing;
  for (const auto& [key, value] : request.meta()) {
    if (!required.contains(key) && !optional.contains(key)) unpermitted.insert(key);
  }
  for (const std::string& key : required) {
    if (!request.meta().contains(key)) missing.insert(key);
  }
  if (!unpermitted.empty()) {
    return invalid_argument("Dispatch request included unpermitted metadata keys: " + listed(unpermitted));
  }
  if (!missing.empty()) return invalid_argument("Dispatch did not provide required meta keys: " + listed(missing));
  return ok_status();
}

}  // namespace

Status check_dispatch(const v1::Job& parent, const v1::DispatchJobRequest& request, int32_t highest_priority) {
  const std::string name = "Specified job \"" + parent.id() + "\"";
  if (!is_parameterized(parent)) return invalid_argument(name + " is not a parameterized job");
  if (parent.stop()) return failed_precondition(name + " is stopped");
  if (request.priority() < 0 || request.priority() > highest_priority) {
    return invalid_argument("priority must be between 1 and " + std::to_string(highest_priority));
  }
  DROVER_RETURN_IF_ERROR(check_payload(parent.parameterized_job().payload(), request.payload()));
  return check_meta(parent.parameterized_job(), request);
}

v1::Job dispatched_child(const v1::Job& parent, const v1::DispatchJobRequest& request, int64_t time_ns,
                         std::string_view suffix) {
  v1::Job child = parent;
  std::string id = parent.id() + "/dispatch-";
  if (!request.id_prefix_template().empty()) id += request.id_prefix_template() + "-";
  child.set_id(id + std::to_string(time_ns / kSecond) + "-" + std::string(suffix));
  child.set_name(child.id());
  child.set_parent_id(parent.id());
  child.set_dispatched(true);
  child.set_dispatch_idempotency_token(request.idempotency_token());
  child.set_payload(request.payload());
  for (const auto& [key, value] : request.meta()) (*child.mutable_meta())[key] = value;
  if (request.priority() > 0) child.set_priority(request.priority());
  child.clear_status();
  child.clear_status_description();
  return child;
}

}  // namespace drover::jobs
