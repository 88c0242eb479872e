// job status: the list of jobs, or all about one.
#include "cli_command.h"
#include "deployments/deployment_text.h"
#include "drover/api/deployments.pb.h"
#include "drover/api/evaluations.pb.h"
#include "drover/api/jobs.pb.h"
#include "drover/model/job.h"
#include "jobs/children.h"
#include "jobs/job_list.h"
#include "jobs/launch_text.h"
#include "lookup.h"
#include "object_output.h"
#include "output.h"
#include "placement.h"

namespace drover::cli {
namespace {

int list_jobs(Run& run) {
  auto jobs = run.client.call<v1::Jobs::List>({});
  if (!jobs) return run.fail("Error querying jobs", jobs.status());
  if (auto code = print_object(run, *jobs)) return *code;
  if (jobs->message.jobs().empty()) {
    run.out << "No running jobs\n";
    return 0;
  }
  run.out << format_list(job_rows(jobs->message.jobs(), run.client.options().name_space == "*"));
  return 0;
}

void show_summary(Run& run, const v1::JobSummary& summary) {
  std::vector<std::vector<std::string>> rows = {
      {"Task Group", "Queued", "Starting", "Running", "Failed", "Complete", "Lost", "Unknown"}};
  for (const auto& [group, counts] : sorted(summary.summary())) {
    rows.push_back({group, std::to_string(counts.queued()), std::to_string(counts.starting()),
                    std::to_string(counts.running()), std::to_string(counts.failed()),
                    std::to_string(counts.complete()), std::to_string(counts.lost()),
                    std::to_string(counts.unknown())});
  }
  run.out << "\nSummary\n" << format_list(rows);
}

// Shows what the newest evaluation could not place, among those that tried. A blocked one waits and has not tried.
void show_placement_failure(Run& run, const v1::ListEvaluationsResponse& evals) {
  const v1::Evaluation* newest = nullptr;
  for (const v1::Evaluation& eval : evals.evaluations()) {
    if (eval.status() == v1::EVAL_STATUS_BLOCKED && eval.failed_tg_allocs().empty()) continue;
    if (!newest || eval.create_index() > newest->create_index()) newest = &eval;
  }
  if (!newest || newest->failed_tg_allocs().empty()) return;
  run.out << "\nPlacement Failure\n";
  for (const auto& [group, metric] : sorted(newest->failed_tg_allocs())) {
    run.out << "Task Group \"" << group << "\":\n" << format_metric(metric, "  ");
  }
}

int show_job(Run& run, const std::string& id) {
  auto found = find_job(run, id);
  if (!found) return run.fail("Error querying job", found.status());
  if (auto code = print_object(run, *found)) return *code;
  const v1::Job& job = found->message.job();
  std::string datacenters;
  for (const std::string& dc : job.datacenters()) datacenters += (datacenters.empty() ? "" : ",") + dc;
  std::vector<std::pair<std::string, std::string>> pairs = {
      {"ID", job.id()},
      {"Name", job.name()},
      {"Submit Date", full_time(job.submit_time())},
      {"Type", job.type()},
      {"Priority", std::to_string(job.priority())},
      {"Datacenters", datacenters},
      {"Namespace", job.namespace_()},
      {"Status", word(job.status()) + (job.stop() ? " (stopped)" : "")},
      {"Periodic", yes_no(job.has_periodic())},
      {"Parameterized", yes_no(is_parameterized(job))}};
  if (is_periodic(job) && !is_parameterized(job)) {
    pairs.emplace_back("Next Periodic Launch", job.stop() ? "none (job stopped)" : next_launch_text(job));
  }
  run.out << format_pairs(pairs);
  if (run.arguments.on("short")) return 0;
  v1::JobRequest request;
  request.set_job_id(job.id());
  auto summary = run.client.call<v1::Jobs::Summary>(request);
  if (!summary) return run.fail("Error querying job summary", summary.status());
  if (starts_children(job)) return show_children(run, job, summary->message.summary());
  show_summary(run, summary->message.summary());
  v1::OfJobRequest of_job;
  of_job.set_job_id(job.id());
  auto evals = run.client.call<v1::Evaluations::OfJob>(of_job);
  if (!evals) return run.fail("Error querying job evaluations", evals.status());
  if (run.arguments.on("evals")) {
    std::vector<std::vector<std::string>> rows = {{"ID", "Priority", "Triggered By", "Status", "Placement Failures"}};
    for (const v1::Evaluation& eval : evals->message.evaluations()) {
      rows.push_back({id_text(eval.id(), run.verbose()), std::to_string(eval.priority()), eval.triggered_by(),
                      word(eval.status()), yes_no(!eval.failed_tg_allocs().empty())});
    }
    run.out << "\nEvaluations\n" << format_list(rows);
  }
  show_placement_failure(run, evals->message);
  const auto latest = run.client.call<v1::Deployments::LatestOfJob>(of_job);
  if (!latest) return run.fail("Error querying latest job deployment", latest.status());
  if (latest->message.has_deployment()) {
    run.out << "\nLatest Deployment\n" << deployment_text(latest->message.deployment(), false, run.verbose());
  }
  auto allocs = allocs_of(run, job.id(), run.arguments.on("all-allocs"));
  if (!allocs) return run.fail("Error querying job allocations", allocs.status());
  run.out << "\nAllocations\n";
  if (allocs->message.allocations().empty()) {
    run.out << "No allocations placed\n";
    return 0;
  }
  std::vector<std::vector<std::string>> rows = {kAllocColumns};
  for (const v1::AllocationListStub& alloc : allocs->message.allocations())
    rows.push_back(alloc_row(alloc, run.verbose()));
  run.out << format_list(rows);
  return 0;
}

int job_status(Run& run) {
  return run.arguments.positional().empty() ? list_jobs(run) : show_job(run, run.arguments.positional()[0]);
}

Definition job_status_command() {
  return {
      "job status",
      "Shows the jobs, or one job with its allocations.",
      "[job]",
      "",
      with_object_flags({on_off("short", "Leave out summary and allocations"), on_off("evals", "Show the evaluations"),
                         on_off("all-allocs", "Also allocations of an earlier job of that name"),
                         on_off("verbose", "Show full identifiers")}),
      0,
      1,
      job_status};
}

int job_allocs(Run& run) {
  auto job = find_job(run, run.arguments.positional()[0]);
  if (!job) return run.fail("Error querying job", job.status());
  auto allocs = allocs_of(run, job->message.job().id(), run.arguments.on("all"));
  if (!allocs) return run.fail("Error querying job allocations", allocs.status());
  if (auto code = print_object(run, *allocs)) return *code;
  std::vector<std::vector<std::string>> rows = {kAllocColumns};
  for (const auto& alloc : allocs->message.allocations()) rows.push_back(alloc_row(alloc, run.verbose()));
  run.out << (rows.size() > 1 ? format_list(rows) : "No allocations placed\n");
  return 0;
}

}  // namespace

std::vector<Definition> job_status_commands() {
  return {job_status_command(),
          {"job allocs", "Lists the allocations of a job.", "<job>", "",
           with_object_flags({on_off("all", "Also those of earlier jobs with the same name"),
                              on_off("verbose", "Show full identifiers")}),
           1, 1, job_allocs}};
}

}  // namespace drover::cli
