// alloc exec.
#include <unistd.h>

#include <nlohmann/json.hpp>

#include "cli_command.h"
#include "client/exec_client.h"
#include "drover/api/allocations.pb.h"
#include "drover/api/client.pb.h"
#include "escape.h"
#include "lookup.h"
#include "output.h"

namespace drover::cli {
namespace {

constexpr size_t kMostWords = 10'000;

int alloc_exec(Run& run) {
  const auto& words = run.arguments.positional();
  bool is_valid = false;
  const auto escape_character = parse_escape(run.arguments.value("e"), is_valid);
  if (!is_valid) return run.usage("-e requires a single character, or \"none\"");
  std::string id = words[0];
  if (run.arguments.on("job")) {
    auto picked = some_alloc_of(run, words[0], true);
    if (!picked) return run.fail("Error querying job allocations", picked.status());
    id = *picked;
  }
  auto alloc = find_alloc(run, id);
  if (!alloc) return run.fail("Error querying allocation", alloc.status());
  auto task = pick_task(alloc->message.allocation(), run.arguments.value("task"));
  if (!task) return run.fail("Error", task.status());

  const bool has_input = ::isatty(STDIN_FILENO) == 1;
  const bool tty = run.arguments.is_set("t") ? run.arguments.on("t") : has_input && ::isatty(STDOUT_FILENO) == 1;
  const bool takes_input = !run.arguments.is_set("i") || run.arguments.on("i");
  if (tty && !takes_input) return run.usage("-i must be enabled if running with tty");
  v1::ExecRequest request;
  request.set_alloc_id(alloc->message.allocation().allocation().id());
  request.set_task(*task);
  request.set_command(nlohmann::json(std::vector(words.begin() + 1, words.end())).dump());
  request.set_tty(tty);
  const auto code =
      run_exec(run.client, {.path = run.client.target(api_request(v1::ClientAllocations::Exec::kName, request)),
                            .takes_input = takes_input,
                            .has_terminal = tty && has_input,
                            .escape = escape_character});
  return code ? *code : run.fail("failed to exec into task", code.status());
}

Definition definition(std::string name) {
  return {.name = std::move(name),
          .synopsis = "Runs a command inside a task.",
          .usage = "<allocation> <command> [words of the command]",
          .description =
              "  The command's input, output and exit code are this command's own. On a terminal, ~. at the beginning\n"
              "  of a line leaves it.\n",
          .flags = {on_off("i", "Pass this command's input on, the default"),
                    on_off("t", "A terminal for the command; the default where this command has one"),
                    with_value("e", "~", "Escape character for a terminal; none: there is none"),
                    with_value("task", "", "The task, where there are several"),
                    on_off("job", "The argument is a job: take one of its allocations that run")},
          .minimum = 2,
          .maximum = kMostWords,
          .run = alloc_exec,
          .takes_command = true};
}

}  // namespace

std::vector<Definition> exec_commands() { return {definition("alloc exec"), definition("exec")}; }

}  // namespace drover::cli
