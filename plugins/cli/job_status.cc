// job status: the list of jobs, or all about one.
#include <nlohmann/json.hpp>

#include "cli_command.h"
#include "lookup.h"
#include "object_output.h"
#include "output.h"
#include "placement.h"

namespace drover::cli {
namespace {

using nlohmann::json;

std::string status_of(const json& job) {
  std::string status = text(job, "Status");
  return member(job, "Stop") == true ? status + " (stopped)" : status;
}

int list_jobs(Run& run) {
  auto jobs = run.client.get("/v1/jobs");
  if (!jobs) return run.fail("Error querying jobs", jobs.status());
  if (auto code = print_object(run, *jobs)) return *code;
  if (jobs->empty()) {
    run.out << "No running jobs\n";
    return 0;
  }
  const bool all_namespaces = run.client.options().name_space == "*";
  std::vector<std::vector<std::string>> rows = {{"ID", "Type", "Priority", "Status", "Submit Date"}};
  if (all_namespaces) rows[0].insert(rows[0].begin() + 1, "Namespace");
  for (const json& job : *jobs) {
    std::vector<std::string> row = {text(job, "ID"), text(job, "Type"), text(job, "Priority"), status_of(job),
                                    full_time(number(job, "SubmitTime"))};
    if (all_namespaces) row.insert(row.begin() + 1, text(job, "Namespace"));
    rows.push_back(std::move(row));
  }
  run.out << format_list(rows);
  return 0;
}

void show_summary(Run& run, const json& summary) {
  std::vector<std::vector<std::string>> rows = {
      {"Task Group", "Queued", "Starting", "Running", "Failed", "Complete", "Lost", "Unknown"}};
  for (const auto& [group, counts] : member(summary, "Summary").items()) {
    rows.push_back({group, text(counts, "Queued"), text(counts, "Starting"), text(counts, "Running"),
                    text(counts, "Failed"), text(counts, "Complete"), text(counts, "Lost"), text(counts, "Unknown")});
  }
  run.out << "\nSummary\n" << format_list(rows);
}

// What the newest evaluation that placed anything, or tried to, could not place. A blocked one waits and has not tried.
void show_placement_failure(Run& run, const json& evals) {
  const json* newest = nullptr;
  for (const json& eval : evals) {
    if (text(eval, "Status") == "blocked" && member(eval, "FailedTGAllocs").empty()) continue;
    if (!newest || number(eval, "CreateIndex") > number(*newest, "CreateIndex")) newest = &eval;
  }
  if (!newest || member(*newest, "FailedTGAllocs").empty()) return;
  run.out << "\nPlacement Failure\n";
  for (const auto& [group, metric] : member(*newest, "FailedTGAllocs").items()) {
    run.out << "Task Group \"" << group << "\":\n" << format_metric(metric, "  ");
  }
}

int show_job(Run& run, const std::string& id) {
  auto job = find_job(run, id);
  if (!job) return run.fail("Error querying job", job.status());
  if (auto code = print_object(run, *job)) return *code;
  std::string datacenters;
  for (const json& dc : member(*job, "Datacenters"))
    datacenters += (datacenters.empty() ? "" : ",") + dc.get<std::string>();
  run.out << format_pairs({{"ID", text(*job, "ID")},
                           {"Name", text(*job, "Name")},
                           {"Submit Date", full_time(number(*job, "SubmitTime"))},
                           {"Type", text(*job, "Type")},
                           {"Priority", text(*job, "Priority")},
                           {"Datacenters", datacenters},
                           {"Namespace", text(*job, "Namespace")},
                           {"Status", status_of(*job)},
                           {"Periodic", member(*job, "Periodic").is_null() ? "false" : "true"},
                           {"Parameterized", member(*job, "ParameterizedJob").is_null() ? "false" : "true"}});
  if (run.arguments.on("short")) return 0;
  const std::string path = "/v1/job/" + escape(text(*job, "ID"));
  auto summary = run.client.get(path + "/summary");
  if (!summary) return run.fail("Error querying job summary", summary.status());
  show_summary(run, *summary);
  auto evals = run.client.get(path + "/evaluations");
  if (!evals) return run.fail("Error querying job evaluations", evals.status());
  if (run.arguments.on("evals")) {
    std::vector<std::vector<std::string>> rows = {{"ID", "Priority", "Triggered By", "Status", "Placement Failures"}};
    for (const json& eval : *evals) {
      rows.push_back({short_id(text(eval, "ID"), run.verbose()), text(eval, "Priority"), text(eval, "TriggeredBy"),
                      text(eval, "Status"), member(eval, "FailedTGAllocs").empty() ? "false" : "true"});
    }
    run.out << "\nEvaluations\n" << format_list(rows);
  }
  show_placement_failure(run, *evals);
  Parameters parameters;
  if (run.arguments.on("all-allocs")) parameters["all"] = "true";
  auto allocs = run.client.get(path + "/allocations", parameters);
  if (!allocs) return run.fail("Error querying job allocations", allocs.status());
  run.out << "\nAllocations\n";
  if (allocs->empty()) {
    run.out << "No allocations placed\n";
    return 0;
  }
  std::vector<std::vector<std::string>> rows = {
      {"ID", "Node ID", "Task Group", "Version", "Desired", "Status", "Created", "Modified"}};
  for (const json& alloc : *allocs) {
    rows.push_back({short_id(text(alloc, "ID"), run.verbose()), short_id(text(alloc, "NodeID"), run.verbose()),
                    text(alloc, "TaskGroup"), text(alloc, "JobVersion"), text(alloc, "DesiredStatus"),
                    text(alloc, "ClientStatus"), relative_time(number(alloc, "CreateTime"), now_ns()),
                    relative_time(number(alloc, "ModifyTime"), now_ns())});
  }
  run.out << format_list(rows);
  return 0;
}

int job_status(Run& run) {
  return run.arguments.positional().empty() ? list_jobs(run) : show_job(run, run.arguments.positional()[0]);
}

Definition define(std::string name) {
  return {
      std::move(name),
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

}  // namespace

std::vector<Definition> job_status_commands() { return {define("job status"), define("status")}; }

}  // namespace drover::cli
