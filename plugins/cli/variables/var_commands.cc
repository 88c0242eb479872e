// var list, get, purge, init, rollback.
#include <fstream>
#include <nlohmann/json.hpp>

#include "cli_command.h"
#include "drover/api/variables.pb.h"
#include "output.h"
#include "variables/spec.h"
#include "variables/variable_output.h"

namespace drover::cli {
namespace {

int print_list(Run& run, const std::string& form, const Answer<v1::ListVariablesResponse>& list) {
  const bool is_wild = run.client.options().name_space == "*";
  if (const auto code = print_as_sent(run, form, list)) {
    if (*code != 0) return *code;
  } else if (form == "terse") {
    for (const v1::VariableMetadata& row : list->variables())
      run.out << (is_wild ? row.namespace_() + "|" : "") << row.path() << "\n";
  } else if (list->variables().empty()) {
    run.out << "No matching variables found\n";
  } else {
    std::vector<std::vector<std::string>> rows = {{"Namespace", "Path", "Last Updated"}};
    for (const v1::VariableMetadata& row : list->variables())
      rows.push_back({row.namespace_(), row.path(), full_time(row.modify_time())});
    run.out << format_list(rows);
  }
  if (!list.next_token.empty()) run.err << "Next page token: " << list.next_token << "\n";
  return 0;
}

int var_list(Run& run) {
  const auto form = output_form(run, {"table", "json", "terse", "go-template"}, "table");
  if (!form) return run.usage(form.status().message());
  Parameters further;
  if (!run.arguments.positional().empty()) further.emplace("prefix", run.arguments.positional()[0]);
  for (const auto& [flag, parameter] :
       {std::pair("filter", "filter"), {"per-page", "per_page"}, {"page-token", "next_token"}}) {
    if (run.arguments.is_set(flag)) further.emplace(parameter, run.arguments.value(flag));
  }
  const auto list = run.client.call<v1::Variables::List>({}, further);
  if (!list) return run.fail("Error retrieving vars", list.status());
  return print_list(run, *form, *list);
}

int var_get(Run& run) {
  if (run.client.options().name_space == "*") return run.usage(kNoWildcard);
  const bool is_item = run.arguments.is_set("item");
  const auto form = output_form(run, {"table", "json", "hcl", "none", "go-template"}, "table");
  if (!form) return run.usage(form.status().message());
  v1::VariableRequest request;
  request.set_path(run.arguments.positional()[0]);
  const auto found = run.client.call<v1::Variables::Read>(request);
  if (!found && found.status().code() == Code::not_found) {
    run.err << "Variable not found\n";
    return 1;
  }
  if (!found) return run.fail("Error retrieving variable", found.status());
  const v1::Variable& variable = found->message.variable();
  if (!is_item) return print_variable(run, *form, variable, *found);
  const auto items = items_of(variable);
  const auto item = items.find(run.arguments.value("item"));
  if (item == items.end()) {
    run.err << "Variable does not contain \"" << run.arguments.value("item") << "\" item\n";
    return 1;
  }
  run.out << item->second << "\n";
  return 0;
}

int var_purge(Run& run) {
  if (run.client.options().name_space == "*") return run.usage(kNoWildcard);
  v1::DeleteVariableRequest request;
  request.set_path(run.arguments.positional()[0]);
  request.set_cas(run.arguments.value("check-index"));
  const auto purged = run.client.call<v1::Variables::Delete>(request);
  if (!purged) {
    if (const auto conflict = conflict_of(purged.status()))
      return print_conflict(run, *conflict, std::strtoull(request.cas().c_str(), nullptr, 10));
    return run.fail("Error purging variable", purged.status());
  }
  run.out << "Successfully purged variable \"" << request.path() << "\"!\n";
  return 0;
}

int var_init(Run& run) {
  const std::string form = run.arguments.value("out");
  if (form != "hcl" && form != "json") return run.usage("-out: \"" + form + "\" is neither hcl nor json");
  const auto& typed = run.arguments.positional();
  const std::string path = typed.empty() ? "spec.nv." + form : typed[0];
  if (std::ifstream(path).good()) return run.usage("The file " + path + " is there already.");
  std::ofstream file(path);
  file << (form == "hcl" ? kVariableExample : kVariableExampleJson);
  file.close();
  if (!file) return run.usage("The file " + path + " cannot be written.");
  if (!run.arguments.on("quiet")) run.out << "Example variable specification written to " << path << "\n";
  return 0;
}

int print_versions(Run& run, const v1::ListVariablesResponse& history) {
  if (history.variables().empty()) {
    run.out << "No former versions are kept\n";
    return 0;
  }
  std::vector<std::vector<std::string>> rows = {{"Index", "Written"}};
  for (const v1::VariableMetadata& row : history.variables())
    rows.push_back({std::to_string(row.modify_index()), full_time(row.modify_time())});
  run.out << format_list(rows);
  return 0;
}

int var_rollback(Run& run) {
  if (run.client.options().name_space == "*") return run.usage(kNoWildcard);
  v1::VariableRequest which;
  which.set_path(run.arguments.positional()[0]);
  const auto history = run.client.call<v1::Variables::History>(which);
  if (!history) return run.fail("Error retrieving the variable's versions", history.status());
  if (run.arguments.on("list")) return print_versions(run, history->message);
  v1::RollbackVariableRequest request;
  request.set_path(which.path());
  request.set_cas(run.arguments.value("check-index"));
  if (run.arguments.is_set("to")) {
    request.set_to(std::strtoull(run.arguments.value("to").c_str(), nullptr, 10));
  } else if (history->message.variables().empty()) {
    run.err << "No former version of \"" << which.path() << "\" is kept\n";
    return 1;
  } else {
    request.set_to(history->message.variables(0).modify_index());
  }
  const auto written = run.client.call<v1::Variables::Rollback>(request);
  if (!written) {
    if (const auto conflict = conflict_of(written.status()))
      return print_conflict(run, *conflict, std::strtoull(request.cas().c_str(), nullptr, 10));
    return run.fail("Error rolling back variable", written.status());
  }
  run.out << "Rolled back variable \"" << which.path() << "\" to index " << request.to() << ", with modify index "
          << written->message.variable().modify_index() << "\n";
  return 0;
}

}  // namespace

std::vector<Definition> var_commands() {
  std::vector<Flag> list_flags = variable_output_flags("table, json, terse or go-template");
  list_flags.push_back(with_value("filter", "", "Rows that match, for example: Path matches \"^app\""));
  list_flags.push_back(with_value("per-page", "", "Rows of a page"));
  list_flags.push_back(with_value("page-token", "", "Where the page begins"));
  std::vector<Flag> get_flags = variable_output_flags("table, json, hcl, none or go-template");
  get_flags.push_back(with_value("item", "", "Print the value of this item alone"));
  return {{"var list", "Lists variables.", "[prefix]", "", list_flags, 0, 1, var_list},
          {"var get", "Shows a variable with its items.", "<path>", "", get_flags, 1, 1, var_get},
          {"var purge",
           "Deletes a variable, with its former versions.",
           "<path>",
           "",
           {with_value("check-index", "", "Only if the variable has this index")},
           1,
           1,
           var_purge},
          {"var init",
           "Writes an example of a variable's file.",
           "[file]",
           "",
           {with_value("out", "hcl", "hcl or json"), on_off("quiet", "Say nothing")},
           0,
           1,
           var_init},
          {"var rollback",
           "Writes a former version of a variable again.",
           "<path>",
           "The newest former version, unless -to names another.\n",
           {with_value("to", "", "The index of the version"),
            on_off("list", "List the versions that are kept, and do nothing"),
            with_value("check-index", "", "Only if the variable has this index")},
           1,
           1,
           var_rollback}};
}

}  // namespace drover::cli
