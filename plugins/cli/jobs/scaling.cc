// job scale, job scaling-events, scaling policy: the counts of groups and what bounds them.
#include <algorithm>
#include <nlohmann/json.hpp>

#include "cli_command.h"
#include "drover/api/jobs.pb.h"
#include "drover/api/scaling.pb.h"
#include "jobs/follow.h"
#include "lookup.h"
#include "object_output.h"
#include "output.h"

namespace drover::cli {
namespace {

// The group that was named, or the only one.
Result<std::string> pick_group(const v1::Job& job, const std::string& named) {
  if (!named.empty()) return named;
  if (job.task_groups_size() == 1) return job.task_groups(0).name();
  std::string names;
  for (const v1::TaskGroup& group : job.task_groups()) names += (names.empty() ? "" : ", ") + group.name();
  return invalid_argument("the job has several groups, name one of them: " + names);
}

int job_scale(Run& run) {
  const auto& words = run.arguments.positional();
  v1::ScaleJobRequest request;
  const auto number = [&](const std::string& text, const char* field) {
    return text_to_field(text, *request.GetDescriptor()->FindFieldByName(field), request).ok();
  };
  if (!number(words.back(), "count")) return run.usage("Error: the count must be a whole number");
  if (run.arguments.is_set("check-index") && !number(run.arguments.value("check-index"), "job_modify_index"))
    return run.usage("Error: -check-index must be a whole number");
  auto job = find_job(run, words[0]);
  if (!job) return run.fail("Error finding job", job.status());
  auto group = pick_group(job->message.job(), words.size() == 3 ? words[1] : "");
  if (!group) return run.fail("Error scaling job", group.status());
  request.set_job_id(job->message.job().id());
  (*request.mutable_target())["Group"] = *std::move(group);
  request.set_message("submitted using the drover CLI");
  request.set_enforce_index(run.arguments.is_set("check-index"));
  auto answer = run.client.call<v1::Jobs::Scale>(request);
  if (!answer) return run.fail("Error submitting scaling request", answer.status());
  show_warnings(run, answer->message.warnings());
  return follow_evaluation(run, answer->message.eval_id());
}

int scaling_events(Run& run) {
  auto job = find_job(run, run.arguments.positional()[0]);
  if (!job) return run.fail("Error finding job", job.status());
  v1::JobRequest request;
  request.set_job_id(job->message.job().id());
  auto answer = run.client.call<v1::Jobs::ScaleStatus>(request);
  if (!answer) return run.fail("Error listing scaling events", answer.status());
  std::vector<std::pair<std::string, v1::ScalingEvent>> events;
  for (const auto& [group, status] : sorted(answer->message.status().task_groups())) {
    for (const v1::ScalingEvent& event : status.events()) events.emplace_back(group, event);
  }
  std::ranges::stable_sort(events, std::ranges::greater(), [](const auto& each) { return each.second.time(); });
  std::vector<std::vector<std::string>> rows = {{"Task Group", "Count", "PrevCount"}};
  if (run.verbose()) rows[0].insert(rows[0].end(), {"Error", "Message", "Eval ID"});
  rows[0].emplace_back("Date");
  for (const auto& [group, event] : events) {
    std::vector<std::string> row = {group, event.has_count() ? std::to_string(event.count()) : "",
                                    std::to_string(event.previous_count())};
    if (run.verbose()) row.insert(row.end(), {yes_no(event.error()), event.message(), id_text(event.eval_id())});
    row.push_back(full_time(event.time()));
    rows.push_back(std::move(row));
  }
  run.out << format_list(rows);
  return 0;
}

template <typename Policy>
std::string target_text(const Policy& policy) {
  std::string text;
  for (const auto& [name, value] : sorted(policy.target())) text += (text.empty() ? "" : ",") + name + ":" + value;
  return text;
}

std::string policy_id(const Run& run, const std::string& id) { return run.verbose() ? id : id.substr(0, 8); }

int policy_list(Run& run) {
  v1::ListScalingPoliciesRequest request;
  request.set_job(run.arguments.value("job"));
  request.set_type(run.arguments.value("type"));
  auto answer = run.client.call<v1::Scaling::ListPolicies>(request);
  if (!answer) return run.fail("Error listing scaling policies", answer.status());
  if (auto code = print_object(run, *answer)) return *code;
  if (answer->message.policies().empty()) {
    run.out << "No policies found\n";
    return 0;
  }
  std::vector<std::vector<std::string>> rows = {{"ID", "Enabled", "Type", "Target"}};
  for (const v1::ScalingPolicyStub& policy : answer->message.policies())
    rows.push_back({policy_id(run, policy.id()), yes_no(policy.enabled()), policy.type(), target_text(policy)});
  run.out << format_list(rows);
  return 0;
}

// The one policy whose identifier begins so.
Result<std::string> find_policy(Run& run, const std::string& typed) {
  DROVER_TRY(const auto answer, run.client.call<v1::Scaling::ListPolicies>({}, {{"prefix", typed}}));
  const auto& matches = answer->policies();
  if (matches.empty()) return not_found("No scaling policies with prefix or id \"" + typed + "\" found");
  if (matches.size() == 1) return matches[0].id();
  std::string ids;
  for (const v1::ScalingPolicyStub& match : matches) ids += "\n" + match.id();
  return invalid_argument("Prefix matched multiple scaling policies\n" + ids);
}

int policy_info(Run& run) {
  auto id = find_policy(run, run.arguments.positional()[0]);
  if (!id) return run.fail("Error querying scaling policy", id.status());
  v1::ScalingPolicyRequest request;
  request.set_id(*std::move(id));
  auto answer = run.client.call<v1::Scaling::GetPolicy>(request);
  if (!answer) return run.fail("Error querying scaling policy", answer.status());
  if (auto code = print_object(run, *answer)) return *code;
  const v1::ScalingPolicy& policy = answer->message.policy();
  run.out << format_pairs({{"ID", policy_id(run, policy.id())},
                           {"Enabled", yes_no(policy.enabled())},
                           {"Target", target_text(policy)},
                           {"Min", std::to_string(policy.min())},
                           {"Max", std::to_string(policy.max())}});
  const nlohmann::json rules = answer->json().value("Policy", nlohmann::json());
  if (!rules.is_null()) run.out << "\nPolicy:\n" << rules.dump(4) << "\n";
  return 0;
}

}  // namespace

std::vector<Definition> job_scaling_commands() {
  return {
      {"job scale", "Sets the count of a job's group.", "<job> [<group>] <count>",
       "  The group may be left out where the job has only one.\n",
       with_follow_flags({with_value("check-index", "", "Only if the job's modify index is this")}), 2, 3, job_scale},
      {"job scaling-events",
       "Shows when and why the counts of a job were changed.",
       "<job>",
       "",
       {on_off("verbose", "Show messages, errors and evaluations as well")},
       1,
       1,
       scaling_events},
      {"scaling policy list", "Lists the scaling policies.", "", "",
       with_object_flags({on_off("verbose", "Show full identifiers"), with_value("job", "", "Only of this job"),
                          with_value("type", "", "Only of this type")}),
       0, 0, policy_list},
      {"scaling policy info", "Shows a scaling policy.", "<policy>", "",
       with_object_flags({on_off("verbose", "Show full identifiers")}), 1, 1, policy_info}};
}

}  // namespace drover::cli
