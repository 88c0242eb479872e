// eval status, eval list, eval delete.

#include <optional>

#include "cli_command.h"
#include "confirm.h"
#include "drover/api/evaluations.pb.h"
#include "drover/api/operator.pb.h"
#include "evals/eval_monitor.h"
#include "lookup.h"
#include "object_output.h"
#include "output.h"
#include "paging.h"
#include "placement.h"

namespace drover::cli {
namespace {

std::string failures(const v1::Evaluation& eval) {
  if (eval.status() == v1::EVAL_STATUS_BLOCKED) return "N/A - In Progress";
  return yes_no(!eval.failed_tg_allocs().empty());
}

int eval_status(Run& run) {
  auto found = find_eval(run, run.arguments.positional()[0]);
  if (!found) return run.fail("Error querying evaluation", found.status());
  const v1::Evaluation& eval = found->message.evaluation();
  if (run.arguments.on("monitor")) return monitor_evaluation(run, eval.id());
  if (auto code = print_object(run, *found)) return *code;
  const bool verbose = run.verbose();
  std::vector<std::pair<std::string, std::string>> pairs = {
      {"ID", id_text(eval.id(), verbose)},
      {"Create Time", relative_time(eval.create_time(), now_ns())},
      {"Modify Time", relative_time(eval.modify_time(), now_ns())},
      {"Status", word(eval.status())},
      {"Status Description", eval.status_description()},
      {"Type", eval.type()},
      {"TriggeredBy", eval.triggered_by()},
      {"Job ID", eval.job_id()},
      {"Namespace", eval.namespace_()},
      {"Priority", std::to_string(eval.priority())},
      {"Placement Failures", failures(eval)}};
  if (verbose) {
    pairs.emplace_back("Previous Eval", id_text(eval.previous_eval()));
    pairs.emplace_back("Next Eval", id_text(eval.next_eval()));
    pairs.emplace_back("Blocked Eval", id_text(eval.blocked_eval()));
  }
  run.out << format_pairs(pairs);
  if (!eval.failed_tg_allocs().empty()) run.out << "\nFailed Placements\n";
  for (const auto& [group, metric] : sorted(eval.failed_tg_allocs()))
    run.out << failure_headline(group, metric) << "\n" << format_metric(metric, "  ");
  return 0;
}

int eval_list(Run& run) {
  v1::ListEvaluationsRequest request;
  request.set_job(run.arguments.value("job"));
  request.set_status(run.arguments.value("status"));
  auto evals = run.client.call<v1::Evaluations::List>(request, page_of(run.arguments));
  if (!evals) return run.fail("Error querying evaluations", evals.status());
  if (auto code = print_object(run, *evals)) return *code;
  if (evals->message.evaluations().empty()) {
    run.out << "No evals found\n";
    return 0;
  }
  std::vector<std::vector<std::string>> rows = {
      {"ID", "Priority", "Triggered By", "Job ID", "Namespace", "Node ID", "Status", "Placement Failures"}};
  for (const v1::Evaluation& eval : evals->message.evaluations()) {
    rows.push_back({id_text(eval.id(), run.verbose()), std::to_string(eval.priority()), eval.triggered_by(),
                    eval.job_id(), eval.namespace_(), id_text(eval.node_id(), run.verbose()), word(eval.status()),
                    failures(eval)});
  }
  run.out << format_list(rows);
  if (!evals->next_token.empty()) run.out << "\n" << next_page_text(run.arguments, evals->next_token);
  return 0;
}

std::string evaluations_text(int64_t count) {
  return std::to_string(count) + (count == 1 ? " evaluation" : " evaluations");
}

// Nothing: evaluations may be deleted now. Else the exit code.
std::optional<int> broker_runs(Run& run) {
  auto settings = run.client.call<v1::OperatorScheduler::GetConfiguration>({});
  if (!settings) return run.fail("Error querying scheduler configuration", settings.status());
  if (settings->message.scheduler_config().pause_eval_broker()) return std::nullopt;
  return run.usage(
      "Evaluations are only deleted while the eval broker is paused. Pause it, and resume it afterwards:\n"
      "  drover operator scheduler set-config -pause-eval-broker=true");
}

// Nothing: go on. Else the exit code.
std::optional<int> ask_before_deleting(Run& run, int64_t count) {
  if (run.arguments.on("yes")) return std::nullopt;
  return ask(run, "Are you sure you want to delete " + evaluations_text(count) + "?");
}

int eval_delete(Run& run) {
  const auto& typed = run.arguments.positional();
  const std::string filter = run.arguments.value("filter");
  if (typed.empty() == filter.empty()) {
    return run.usage(typed.empty() ? "Name evaluations, or give a -filter."
                                   : "Name evaluations or give a -filter, not both.");
  }
  if (auto code = broker_runs(run)) return *code;
  v1::DeleteEvaluationsRequest request;
  int64_t found = 0;
  if (!filter.empty()) {
    const auto count = run.client.call<v1::Evaluations::Count>({}, {{"filter", filter}});
    if (!count) return run.fail("Error counting evaluations", count.status());
    found = count->message.count();
    request.set_filter(filter);
  }
  for (const std::string& prefix : typed) {
    const auto eval = find_eval(run, prefix);
    if (!eval) return run.fail("Error querying evaluation", eval.status());
    request.add_eval_ids(eval->message.evaluation().id());
    ++found;
  }
  if (found > 0) {
    if (auto code = ask_before_deleting(run, found)) return *code;
    const auto deleted = run.client.call<v1::Evaluations::Delete>(request);
    if (!deleted) return run.fail("Error deleting evaluations", deleted.status());
    if (const int64_t count = deleted->message.count(); count > 0) {
      run.out << "Successfully deleted " << evaluations_text(count) << "\n";
      return 0;
    }
  }
  run.out << "No evaluations were deleted\n";
  return 0;
}

}  // namespace

std::string next_page_text(const Arguments& arguments, const std::string& next_token) {
  return "There are more evaluations. The next page:\n\n" + next_page_command(arguments, "eval list", next_token) +
         "\n";
}

std::vector<Definition> eval_commands() {
  return {
      {"eval status", "Shows an evaluation and why it could not place what it could not.", "<evaluation>", "",
       with_object_flags({on_off("monitor", "Follow it until it ends"), on_off("verbose", "Show full identifiers")}), 1,
       1, eval_status},
      {"eval list", "Lists evaluations.", "", "",
       with_page_flags({with_value("job", "", "Only of this job"), with_value("status", "", "Only with this status"),
                        on_off("verbose", "Show full identifiers")},
                       "Priority == 50 and Type == service"),
       0, 0, eval_list},
      {"eval delete",
       "Deletes evaluations while the broker is paused.",
       "<evaluation> [<evaluation>…] | -filter <expression>",
       "Those of which allocations live are not deleted. Pause the broker before:\n"
       "drover operator scheduler set-config -pause-eval-broker=true",
       {with_value("filter", "", "Delete those that the expression wants: 'Status == pending'"),
        on_off("yes", "Ask no question")},
       0,
       1000,
       eval_delete}};
}

}  // namespace drover::cli
