// eval status, eval list.
#include <nlohmann/json.hpp>

#include "cli_command.h"
#include "eval_monitor.h"
#include "lookup.h"
#include "object_output.h"
#include "output.h"
#include "placement.h"

namespace drover::cli {
namespace {

using nlohmann::json;

std::string failures(const json& eval) {
  if (text(eval, "Status") == "blocked") return "N/A - In Progress";
  return member(eval, "FailedTGAllocs").empty() ? "false" : "true";
}

int eval_status(Run& run) {
  auto eval = find_eval(run, run.arguments.positional()[0]);
  if (!eval) return run.fail("Error querying evaluation", eval.status());
  if (run.arguments.on("monitor")) return monitor_evaluation(run, text(*eval, "ID"));
  if (auto code = print_object(run, *eval)) return *code;
  const bool verbose = run.verbose();
  std::vector<std::pair<std::string, std::string>> pairs = {
      {"ID", short_id(text(*eval, "ID"), verbose)},
      {"Create Time", relative_time(number(*eval, "CreateTime"), now_ns())},
      {"Modify Time", relative_time(number(*eval, "ModifyTime"), now_ns())},
      {"Status", text(*eval, "Status")},
      {"Status Description", text(*eval, "StatusDescription")},
      {"Type", text(*eval, "Type")},
      {"TriggeredBy", text(*eval, "TriggeredBy")},
      {"Job ID", text(*eval, "JobID")},
      {"Namespace", text(*eval, "Namespace")},
      {"Priority", text(*eval, "Priority")},
      {"Placement Failures", failures(*eval)}};
  if (verbose) {
    pairs.emplace_back("Previous Eval", text(*eval, "PreviousEval"));
    pairs.emplace_back("Next Eval", text(*eval, "NextEval"));
    pairs.emplace_back("Blocked Eval", text(*eval, "BlockedEval"));
  }
  run.out << format_pairs(pairs);
  if (const json& failed = member(*eval, "FailedTGAllocs"); !failed.empty()) {
    run.out << "\nFailed Placements\n";
    for (const auto& [group, metric] : failed.items()) {
      run.out << failure_headline(group, metric) << "\n" << format_metric(metric, "  ");
    }
  }
  return 0;
}

int eval_list(Run& run) {
  Parameters parameters;
  for (const char* name : {"job", "status"}) {
    if (run.arguments.is_set(name)) parameters[name] = run.arguments.value(name);
  }
  if (run.arguments.is_set("per-page")) parameters["per_page"] = run.arguments.value("per-page");
  if (run.arguments.is_set("page-token")) parameters["next_token"] = run.arguments.value("page-token");
  std::string next_token;
  auto evals = run.client.get("/v1/evaluations", parameters, &next_token);
  if (!evals) return run.fail("Error querying evaluations", evals.status());
  if (auto code = print_object(run, *evals)) return *code;
  if (evals->empty()) {
    run.out << "No evals found\n";
    return 0;
  }
  std::vector<std::vector<std::string>> rows = {
      {"ID", "Priority", "Triggered By", "Job ID", "Namespace", "Node ID", "Status", "Placement Failures"}};
  for (const json& eval : *evals) {
    rows.push_back({short_id(text(eval, "ID"), run.verbose()), text(eval, "Priority"), text(eval, "TriggeredBy"),
                    text(eval, "JobID"), text(eval, "Namespace"), short_id(text(eval, "NodeID"), run.verbose()),
                    text(eval, "Status"), failures(eval)});
  }
  run.out << format_list(rows);
  if (!next_token.empty()) run.out << "\n" << next_page_text(parameters, next_token);
  return 0;
}

}  // namespace

std::string next_page_text(Parameters parameters, const std::string& next_token) {
  std::string text = "There are more evaluations. The next page:\n\ndrover eval list";
  parameters["next_token"] = next_token;
  for (const auto& [name, value] : parameters) {
    const std::string flag = name == "next_token" ? "page-token" : name == "per_page" ? "per-page" : name;
    text += " -" + flag + " " + value;
  }
  return text + "\n";
}

std::vector<Definition> eval_commands() {
  return {
      {"eval status", "Shows an evaluation and why it could not place what it could not.", "<evaluation>", "",
       with_object_flags({on_off("monitor", "Follow it until it ends"), on_off("verbose", "Show full identifiers")}), 1,
       1, eval_status},
      {"eval list", "Lists evaluations.", "", "",
       with_object_flags({with_value("job", "", "Only of this job"), with_value("status", "", "Only with this status"),
                          with_value("per-page", "", "Page size"),
                          with_value("page-token", "", "Where the page begins"),
                          on_off("verbose", "Show full identifiers")}),
       0, 0, eval_list}};
}

}  // namespace drover::cli
