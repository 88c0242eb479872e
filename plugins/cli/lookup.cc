#include "lookup.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <random>

#include "drover/api/deployments.pb.h"
#include "drover/api/evaluations.pb.h"
#include "drover/api/jobs.pb.h"
#include "drover/api/nodes.pb.h"
#include "drover/api/system.pb.h"
#include "jobs/job_list.h"
#include "output.h"

namespace drover::cli {
namespace {

// The digits of an identifier, without dashes.
std::string digits_of(const std::string& id) {
  std::string digits;
  for (const char c : id) {
    if (c != '-') digits += static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  }
  return digits;
}

// The API takes an even number of digits as a prefix.
Result<std::string> prefix_of(const std::string& typed) {
  if (typed.size() < 2)
    return invalid_argument("identifier \"" + typed + "\" is too short; type at least two characters");
  const std::string digits = digits_of(typed);
  return digits.substr(0, digits.size() & ~size_t{1});
}

// The identifier of the one match that begins with what was typed.
template <typename Matches>
Result<std::string> one_of(const Matches& matches, const std::string& typed, const std::string& what) {
  std::vector<std::string> fitting;
  for (const auto& match : matches) {
    if (digits_of(id_text(match.id())).starts_with(digits_of(typed))) fitting.push_back(match.id());
  }
  if (fitting.empty()) return not_found("No " + what + " with prefix or id \"" + typed + "\" found");
  if (fitting.size() == 1) return fitting.front();
  std::string ids;
  for (const std::string& id : fitting) ids += "\n" + id_text(id);
  return invalid_argument("Prefix matched multiple " + what + "\n" + ids);
}

}  // namespace

Result<Answer<v1::JobResponse>> find_job(Run& run, const std::string& id) {
  run.client.set_namespace(run.client.options().name_space);  // a job before this one may have been in another
  DROVER_TRY(auto answer, run.client.call<v1::Jobs::List>({}, {{"prefix", id}}));
  auto& matches = *answer.message.mutable_jobs();
  const auto is_exact = [&](const v1::JobListStub& match) { return match.id() == id; };
  const auto others = std::stable_partition(matches.begin(), matches.end(), is_exact);
  if (others != matches.begin()) matches.erase(others, matches.end());
  if (matches.empty()) return not_found("No job(s) with prefix or ID \"" + id + "\" found");
  const bool is_everywhere = run.client.name_space() == "*";
  if (matches.size() > 1) {
    std::string ids;
    for (const v1::JobListStub& match : matches) ids += "\n" + match.id();
    return invalid_argument("Prefix matched multiple jobs\n" +
                            (is_everywhere ? "\n" + format_list(job_rows(matches, true)) : ids));
  }
  if (is_everywhere) run.client.set_namespace(matches[0].namespace_());
  v1::JobRequest request;
  request.set_job_id(matches[0].id());
  return run.client.call<v1::Jobs::Get>(request);
}

Result<Answer<v1::AllocationResponse>> find_alloc(Run& run, const std::string& id) {
  DROVER_TRY(const std::string prefix, prefix_of(id));
  DROVER_TRY(const auto matches, run.client.call<v1::Allocations::List>({}, {{"prefix", prefix}}));
  v1::AllocationRequest request;
  DROVER_TRY(*request.mutable_alloc_id(), one_of(matches->allocations(), id, "allocation(s)"));
  return run.client.call<v1::Allocations::Get>(request);
}

Result<Answer<v1::NodeResponse>> find_node(Run& run, const std::string& id) {
  DROVER_TRY(const std::string prefix, prefix_of(id));
  DROVER_TRY(const auto matches, run.client.call<v1::Nodes::List>({}, {{"prefix", prefix}}));
  v1::NodeRequest request;
  DROVER_TRY(*request.mutable_node_id(), one_of(matches->nodes(), id, "node(s)"));
  return run.client.call<v1::Nodes::Get>(request);
}

Result<Answer<v1::EvaluationResponse>> find_eval(Run& run, const std::string& id) {
  DROVER_TRY(const std::string prefix, prefix_of(id));
  DROVER_TRY(const auto matches, run.client.call<v1::Evaluations::List>({}, {{"prefix", prefix}}));
  v1::EvaluationRequest request;
  DROVER_TRY(*request.mutable_eval_id(), one_of(matches->evaluations(), id, "evaluation(s)"));
  return run.client.call<v1::Evaluations::Get>(request);
}

Result<Answer<v1::DeploymentResponse>> find_deployment(Run& run, const std::string& id) {
  DROVER_TRY(const std::string prefix, prefix_of(id));
  DROVER_TRY(const auto matches, run.client.call<v1::Deployments::List>({}, {{"prefix", prefix}}));
  v1::DeploymentRequest request;
  DROVER_TRY(*request.mutable_deployment_id(), one_of(matches->deployments(), id, "deployment(s)"));
  return run.client.call<v1::Deployments::Get>(request);
}

Result<std::string> named_or_own_node(Run& run) {
  if (!run.arguments.on("self")) return run.arguments.positional().empty() ? "" : run.arguments.positional()[0];
  DROVER_TRY(const auto self, run.client.call<v1::AgentInformation::Self>({}));
  const nlohmann::json json = self.json();
  const nlohmann::json::json_pointer place("/stats/client/node_id");
  if (!json.contains(place)) return failed_precondition("the agent at this address runs no node; name one");
  return json.at(place).get<std::string>();
}

Result<Answer<v1::AllocationStubsResponse>> allocs_of(Run& run, const std::string& job, bool all) {
  v1::OfJobRequest request;
  request.set_job_id(job);
  request.set_all(all);
  return run.client.call<v1::Allocations::OfJob>(request);
}

Result<std::string> some_alloc_of(Run& run, const std::string& job, bool must_run) {
  if (run.client.name_space() == "*") DROVER_RETURN_IF_ERROR(find_job(run, job).status());  // goes on in its own
  DROVER_TRY(const auto allocs, allocs_of(run, job));
  std::vector<std::string> running, others;
  for (const v1::AllocationListStub& each : allocs->allocations())
    (each.client_status() == v1::CLIENT_STATUS_RUNNING ? running : others).push_back(id_text(each.id()));
  if (running.empty() && must_run) return not_found("no allocation of job \"" + job + "\" is running");
  if (running.empty()) running = std::move(others);
  if (running.empty()) return not_found("job \"" + job + "\" doesn't exist or it has no allocations");
  std::random_device chance;
  return running[chance() % running.size()];
}

Result<std::string> pick_task(const v1::AllocationWithJob& alloc, const std::string& wanted) {
  std::vector<std::string> tasks;
  for (const v1::TaskGroup& group : alloc.job().task_groups()) {
    if (group.name() != alloc.allocation().task_group()) continue;
    for (const v1::Task& task : group.tasks()) tasks.push_back(task.name());
  }
  std::string names;
  for (const std::string& task : tasks) {
    if (task == wanted) return task;
    names += "\n  * " + task;
  }
  if (wanted.empty() && tasks.size() == 1) return tasks.front();
  if (wanted.empty())
    return invalid_argument("Allocation " + id_text(alloc.allocation().id(), false) +
                            " is running the following tasks:" + names + "\n\nPlease specify the task.");
  return invalid_argument("Could not find task named: " + wanted + ", found:" + names);
}

}  // namespace drover::cli
