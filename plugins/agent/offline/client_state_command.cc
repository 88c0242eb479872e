#include "offline/client_state_command.h"

#include <algorithm>
#include <ostream>

#include "offline/node_state.h"
#include "offline/rows_copy.h"

namespace drover::agent {
namespace {

int refuse(CommandHost& host, std::string_view text) {
  host.err() << text << "\nFor additional help try 'drover operator client-state -help'\n";
  return 1;
}

int fail(CommandHost& host, std::string_view what, const Status& status) {
  host.err() << what << ": " << status.message() << "\n";
  return 1;
}

}  // namespace

std::string ClientStateCommand::help() const {
  return "Usage: drover operator client-state <data_dir>\n\n  " + synopsis() +
         "\n\n"
         "  Of a node whose agent is stopped: while an agent uses the files they are left alone. Allocations,\n"
         "  tasks, the handles by which drivers find their tasks again, and how far the hooks came. Secrets are\n"
         "  left out; \"LeftOut\" names what is there beside. Exits with 1 when a row cannot be read, after all\n"
         "  that can be.\n";
}

int ClientStateCommand::run(std::span<const std::string> arguments, CommandHost& host) {
  const auto is_help = [](const std::string& word) { return word == "-h" || word == "-help" || word == "--help"; };
  if (std::ranges::any_of(arguments, is_help)) {
    host.out() << help();
    return 0;
  }
  for (const std::string& word : arguments) {
    if (word.starts_with('-')) return refuse(host, "flag provided but not defined: " + word);
  }
  if (arguments.size() != 1) return refuse(host, "This command takes these arguments: <data_dir>");
  const auto copy = RowsCopy::make(arguments[0]);
  if (!copy) return fail(host, "Error opening the node's state", copy.status());
  AgentStore store((*copy)->rows());
  const auto state = node_state(store);
  if (!state) return fail(host, "Error reading the node's state", state.status().with_context(arguments[0]));
  host.out() << state->json;
  for (const std::string& problem : state->problems)
    host.err() << "Error reading the node's state: " << problem << "\n";
  return state->problems.empty() ? 0 : 1;
}

}  // namespace drover::agent
