// deployment list, status, promote, fail, pause, resume, unblock; job deployments, job promote.
#include "cli_command.h"
#include "deployments/deployment_monitor.h"
#include "deployments/deployment_text.h"
#include "drover/api/allocations.pb.h"
#include "drover/api/deployments.pb.h"
#include "drover/api/jobs.pb.h"
#include "evals/eval_monitor.h"
#include "lookup.h"
#include "object_output.h"
#include "output.h"

namespace drover::cli {
namespace {

int show_deployments(Run& run, const Result<Answer<v1::ListDeploymentsResponse>>& found) {
  if (!found) return run.fail("Error retrieving deployments", found.status());
  if (auto code = print_object(run, *found)) return *code;
  if (found->message.deployments().empty()) {
    run.out << "No deployments found\n";
    return 0;
  }
  std::vector<std::vector<std::string>> rows = {kDeploymentColumns};
  for (const v1::Deployment& deployment : found->message.deployments()) {
    rows.push_back(deployment_row(deployment, run.verbose()));
  }
  run.out << format_list(rows);
  return 0;
}

int deployment_list(Run& run) {
  Parameters further;
  if (run.arguments.is_set("filter")) further.emplace("filter", run.arguments.value("filter"));
  return show_deployments(run, run.client.call<v1::Deployments::List>({}, further));
}

// The deployment that the first argument names.
Result<v1::Deployment> named_deployment(Run& run) {
  DROVER_TRY(const auto found, find_deployment(run, run.arguments.positional()[0]));
  return found.message.deployment();
}

int deployment_status(Run& run) {
  const auto found = find_deployment(run, run.arguments.positional()[0]);
  if (!found) return run.fail("Error retrieving deployment", found.status());
  const v1::Deployment& deployment = found->message.deployment();
  if (run.arguments.on("monitor")) {
    if (wants_object(run)) return run.usage("The monitor flag cannot be used with the '-json' or '-t' flags");
    return monitor_deployment(run, deployment.id(), run.arguments.value("wait"));
  }
  if (auto code = print_object(run, *found)) return *code;
  run.out << deployment_text(deployment, true, run.verbose());
  if (!run.verbose()) return 0;
  v1::DeploymentRequest request;
  request.set_deployment_id(deployment.id());
  const auto allocs = run.client.call<v1::Deployments::Allocations>(request);
  if (!allocs) return run.fail("Error retrieving allocations", allocs.status());
  run.out << "\nAllocations\n";
  if (allocs->message.allocations().empty()) {
    run.out << "No allocations placed\n";
    return 0;
  }
  std::vector<std::vector<std::string>> rows = {kAllocColumns};
  for (const v1::AllocationListStub& alloc : allocs->message.allocations()) rows.push_back(alloc_row(alloc, true));
  run.out << format_list(rows);
  return 0;
}

// Follows what a change set going, unless that is not wanted or nothing was.
int after_change(Run& run, const std::string& eval, FollowDeployment follow) {
  if (eval.empty()) return 0;
  if (run.arguments.on("detach")) {
    run.out << "Evaluation ID: " << id_text(eval) << "\n";
    return 0;
  }
  run.out << "\n";
  return monitor_evaluation(run, eval, follow);
}

int promote_deployment(Run& run, const std::string& id, const std::string& failure) {
  v1::PromoteDeploymentRequest request;
  request.set_path_deployment_id(id);
  request.set_deployment_id(id);
  for (const std::string& group : run.arguments.values("group")) request.add_groups(group);
  request.set_all(request.groups().empty());
  const auto answer = run.client.call<v1::Deployments::Promote>(request);
  if (!answer) return run.fail(failure, answer.status());
  return after_change(run, answer->message.eval_id(), FollowDeployment::yes);
}

int deployment_promote(Run& run) {
  const auto deployment = named_deployment(run);
  if (!deployment) return run.fail("Error retrieving deployment", deployment.status());
  return promote_deployment(run, deployment->id(), "Error promoting deployment");
}

int deployment_fail(Run& run) {
  const auto deployment = named_deployment(run);
  if (!deployment) return run.fail("Error retrieving deployment", deployment.status());
  v1::FailDeploymentRequest request;
  request.set_deployment_id(deployment->id());
  const auto answer = run.client.call<v1::Deployments::Fail>(request);
  if (!answer) return run.fail("Error failing deployment", answer.status());
  run.out << "Deployment \"" << id_text(deployment->id()) << "\" failed";
  if (answer->message.has_reverted_job_version()) {
    run.out << ". Auto-reverted to job version " << answer->message.reverted_job_version() << ".";
  }
  run.out << "\n";
  return after_change(run, answer->message.eval_id(), FollowDeployment::no);
}

int set_paused(Run& run, bool pause) {
  const auto deployment = named_deployment(run);
  if (!deployment) return run.fail("Error retrieving deployment", deployment.status());
  v1::PauseDeploymentRequest request;
  request.set_path_deployment_id(deployment->id());
  request.set_deployment_id(deployment->id());
  request.set_pause(pause);
  const auto answer = run.client.call<v1::Deployments::Pause>(request);
  if (!answer) return run.fail(pause ? "Error pausing deployment" : "Error resuming deployment", answer.status());
  run.out << "Deployment \"" << id_text(deployment->id()) << "\" " << (pause ? "paused" : "resumed") << "\n";
  return after_change(run, answer->message.eval_id(), FollowDeployment::yes);
}

int deployment_pause(Run& run) { return set_paused(run, true); }
int deployment_resume(Run& run) { return set_paused(run, false); }

int deployment_unblock(Run& run) {
  const auto deployment = named_deployment(run);
  if (!deployment) return run.fail("Error retrieving deployment", deployment.status());
  v1::UnblockDeploymentRequest request;
  request.set_path_deployment_id(deployment->id());
  request.set_deployment_id(deployment->id());
  const auto answer = run.client.call<v1::Deployments::Unblock>(request);
  if (!answer) return run.fail("Error unblocking deployment", answer.status());
  run.out << "Deployment \"" << id_text(deployment->id()) << "\" unblocked\n";
  return after_change(run, answer->message.eval_id(), FollowDeployment::yes);
}

int job_deployments(Run& run) {
  const auto job = find_job(run, run.arguments.positional()[0]);
  if (!job) return run.fail("Error listing jobs", job.status());
  v1::OfJobRequest request;
  request.set_job_id(job->message.job().id());
  request.set_all(run.arguments.on("all"));
  if (!run.arguments.on("latest")) return show_deployments(run, run.client.call<v1::Deployments::OfJob>(request));
  const auto latest = run.client.call<v1::Deployments::LatestOfJob>(request);
  if (!latest) return run.fail("Error retrieving deployments", latest.status());
  if (auto code = print_object(run, *latest)) return *code;
  if (latest->message.has_deployment()) {
    run.out << deployment_text(latest->message.deployment(), true, run.verbose());
  } else {
    run.out << "No deployment found\n";
  }
  return 0;
}

int job_promote(Run& run) {
  const auto job = find_job(run, run.arguments.positional()[0]);
  if (!job) return run.fail("Error listing jobs", job.status());
  const std::string& id = job->message.job().id();
  v1::OfJobRequest request;
  request.set_job_id(id);
  const auto latest = run.client.call<v1::Deployments::LatestOfJob>(request);
  if (!latest) return run.fail("Error retrieving deployments", latest.status());
  if (!latest->message.has_deployment()) return run.usage("Job \"" + id + "\" has no deployment to promote");
  const std::string& deployment = latest->message.deployment().id();
  return promote_deployment(run, deployment,
                            "Error promoting deployment \"" + id_text(deployment) + "\" for job \"" + id + "\"");
}

Flag detach_flag() { return on_off("detach", "Print the evaluation instead of following what comes of it"); }
Flag full_ids_flag() { return on_off("verbose", "Show full identifiers"); }
Flag group_flag() { return with_value("group", "", "Only this group; may be given several times"); }

}  // namespace

std::vector<Definition> deployment_commands() {
  const std::string one = "<deployment id>";
  return {
      {"deployment list", "Lists deployments.", "", "",
       with_object_flags({full_ids_flag(), with_value("filter", "", "Only those for which this holds")}), 0, 0,
       deployment_list},
      {"deployment status", "Shows a deployment and its groups.", one, "",
       with_object_flags({on_off("verbose", "Full identifiers, and the allocations"),
                          on_off("monitor", "Follow it until it is over"),
                          with_value("wait", "2s", "How long the server waits for a change at a time")}),
       1, 1, deployment_status},
      {"deployment promote",
       "Makes the canaries of a deployment what the job runs.",
       one,
       "",
       {group_flag(), detach_flag(), full_ids_flag()},
       1,
       1,
       deployment_promote},
      {"deployment fail",
       "Gives a deployment up.",
       one,
       "  The job goes back to its last stable version where a group says auto_revert.\n",
       {detach_flag(), full_ids_flag()},
       1,
       1,
       deployment_fail},
      {"deployment pause",
       "Pauses a deployment: nothing is placed or replaced.",
       one,
       "",
       {full_ids_flag()},
       1,
       1,
       deployment_pause},
      {"deployment resume",
       "Has a paused deployment go on.",
       one,
       "",
       {detach_flag(), full_ids_flag()},
       1,
       1,
       deployment_resume},
      {"deployment unblock",
       "Has a deployment over several regions go on in this one.",
       one,
       "",
       {detach_flag(), full_ids_flag()},
       1,
       1,
       deployment_unblock},
      {"job deployments", "Lists the deployments of a job, the newest first.", "<job>", "",
       with_object_flags({on_off("latest", "Show the newest one alone"),
                          on_off("all", "Also those of an earlier job of that name"), full_ids_flag()}),
       1, 1, job_deployments},
      {"job promote",
       "Makes the canaries of a job's newest deployment what the job runs.",
       "<job id>",
       "",
       {group_flag(), detach_flag(), full_ids_flag()},
       1,
       1,
       job_promote},
  };
}

}  // namespace drover::cli
