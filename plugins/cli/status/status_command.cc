// status: the jobs, or whatever object a person names by the beginning of its identifier.
#include <nlohmann/json.hpp>

#include "cli_command.h"
#include "drover/api/search.pb.h"
#include "object_output.h"
#include "status/resolve.h"

namespace drover::cli {
namespace {

Result<Meant> search_for(Run& run, const std::string& typed) {
  v1::SearchRequest request;
  request.set_prefix(typed);
  request.set_context("all");
  DROVER_TRY(const auto answer, run.client.call<v1::Search::Prefix>(request));
  std::map<std::string, std::vector<std::string>> matches;
  const auto found = nlohmann::json::parse(answer.message.matches(), nullptr, false);
  if (!found.is_object()) return data_loss("the answer to the search has no matches");
  for (const auto& [context, ids] : found.items()) {
    for (const auto& id : ids) {
      if (id.is_string()) matches[context].push_back(id.get<std::string>());
    }
  }
  return meant_by(typed, matches);
}

// Goes on as the command that shows an object of that kind, with the options of this one.
int go_on(Run& run, const std::string& command, const std::string& id) {
  std::vector<std::string> words;
  for (const Arguments::Given& given : run.arguments.given()) words.push_back("-" + given.flag + "=" + given.value);
  if (!id.empty()) words.push_back(id);
  auto* const other = static_cast<Command*>(run.host.find_extension(Command::kExtensionPoint, command));
  if (!other) return run.usage("The command '" + command + "' is not installed");
  return other->run(words, run.host);
}

int show_status(Run& run) {
  if (run.arguments.positional().empty()) return go_on(run, "job status", "");
  const auto meant = search_for(run, run.arguments.positional()[0]);
  if (!meant) return run.fail("Error querying search", meant.status());
  return go_on(run, meant->command, meant->id);
}

}  // namespace

std::vector<Definition> status_commands() {
  return {{"status",
           "Shows the jobs, or the object with this ID, whatever it is.",
           "[id]",
           "  The beginning of an identifier is enough, where nothing else begins so.\n",
           with_object_flags({on_off("short", "Leave out the details"), on_off("verbose", "Show full identifiers"),
                              on_off("evals", "Of a job: show the evaluations"),
                              on_off("all-allocs", "Of a job: also allocations of an earlier job of that name")}),
           0,
           1,
           show_status}};
}

}  // namespace drover::cli
