// What tasks the kit runs: written by the author, or guessed from the driver's schema.
#include <algorithm>
#include <array>

#include "drover/hcl.h"
#include "drover/hclspec.h"
#include "trial.h"

namespace drover::conformance {
namespace {

const std::array kKinds = {"endless", "deaf", "ending", "talking", "invalid"};

Status read_task(const hcl::NodeBlock& block, TaskSpec& task) {
  task.config = hcl::Value(hcl::Object());
  for (const hcl::NodeBlock& inner : block.body.blocks) {
    if (inner.type != "config") return invalid_argument("unknown block \"" + inner.type + "\"; there is only config");
    task.config = hcl::object_of(inner.body);
  }
  for (const auto& [name, attribute] : block.body.attributes) {
    if (name == "config") {
      task.config = attribute.value;
    } else if (name == "exit_code" && hcl::as_integer(attribute.value)) {
      task.exit_code = static_cast<int>(*hcl::as_integer(attribute.value));
    } else if (name == "stdout" && attribute.value.is_string()) {
      task.out = attribute.value.string();
    } else if (name == "stderr" && attribute.value.is_string()) {
      task.err = attribute.value.string();
    } else {
      return invalid_argument("\"" + name +
                              "\" is unknown or of the wrong type; a task has config, exit_code (a number), stdout and "
                              "stderr (texts)");
    }
  }
  return ok_status();
}

TaskSpec shell(const std::string& script) {
  return {.config = hcl::Value(
              hcl::Object{{"command", "/bin/sh"}, {"args", hcl::List{hcl::Value("-c"), hcl::Value(script)}}})};
}

void add_commands(Setup& setup) {
  setup.tasks.try_emplace("endless", shell("exec sleep 3600"));
  setup.tasks.try_emplace("deaf", shell("exec sleep 3600"));
  TaskSpec ending = shell("exit 7");
  ending.exit_code = 7;
  setup.tasks.try_emplace("ending", ending);
  TaskSpec talking = shell("echo this is out; echo this is err >&2; while :; do echo more; sleep 0.02; done");
  talking.out = "this is out\n";
  talking.err = "this is err\n";
  setup.tasks.try_emplace("talking", talking);
  setup.tasks.try_emplace("invalid",
                          TaskSpec{.config = hcl::Value(hcl::Object{{"command", "/no/such/program/anywhere"}})});
}

void add_timed(Setup& setup, bool knows_output) {
  setup.tasks.try_emplace("endless", TaskSpec{.config = hcl::Value(hcl::Object{{"run_for", "1h"}})});
  setup.tasks.try_emplace(
      "ending", TaskSpec{.config = hcl::Value(hcl::Object{{"run_for", "1ms"}, {"exit_code", 7}}), .exit_code = 7});
  if (!knows_output) return;
  setup.tasks.try_emplace("deaf",
                          TaskSpec{.config = hcl::Value(hcl::Object{{"run_for", "1h"}, {"ignore_kill", true}})});
  setup.tasks.try_emplace("talking", TaskSpec{.config = hcl::Value(hcl::Object{{"run_for", "1h"},
                                                                               {"stdout_string", "this is out\n"},
                                                                               {"stdout_repeat", 1000000},
                                                                               {"stdout_repeat_duration", "10ms"},
                                                                               {"stderr_string", "this is err\n"}}),
                                              .out = "this is out\n",
                                              .err = "this is err\n"});
  setup.tasks.try_emplace("invalid", TaskSpec{.config = hcl::Value(hcl::Object{{"start_error", "told to fail"}})});
}

}  // namespace

Status read_tasks(const std::string& file_name, std::string text, Setup& setup) {
  hcl::Diagnostics problems;
  const hcl::File file = hcl::parse(file_name, std::move(text), problems);
  const hcl::Node root = hcl::evaluate(file.body, {.variables = {}, .functions = hcl::standard_functions()}, problems);
  DROVER_RETURN_IF_ERROR(problems.status());
  if (!root.attributes.empty())
    return invalid_argument(file_name + ": \"" + root.attributes.begin()->first +
                            "\" is unknown; the file has blocks task \"KIND\" { … }");
  for (const hcl::NodeBlock& block : root.blocks) {
    if (block.type != "task" || block.labels.size() != 1 ||
        std::find(kKinds.begin(), kKinds.end(), block.labels[0]) == kKinds.end()) {
      std::string kinds;
      for (const char* kind : kKinds) kinds += (kinds.empty() ? "" : ", ") + std::string(kind);
      return invalid_argument(file_name + ":" + std::to_string(block.range.start.line) +
                              ": expected task \"KIND\" { … } with KIND one of " + kinds);
    }
    TaskSpec task;
    DROVER_RETURN_IF_ERROR(read_task(block, task).with_context(file_name + ": task \"" + block.labels[0] + "\""));
    setup.tasks[block.labels[0]] = std::move(task);
  }
  return ok_status();
}

Status guess_tasks(const SubjectFactory& factory, Setup& setup) {
  DROVER_TRY(auto subject, factory());
  const TemporaryFolder folder;
  Trial trial(*subject, setup, folder.path());
  DROVER_RETURN_IF_ERROR(trial.configure());
  DROVER_TRY(const auto answer,
             trial.call<driver::TaskConfigSchemaResponse>("TaskConfigSchema", driver::TaskConfigSchemaRequest()));
  const auto& names = answer.spec().object().attributes();
  if (names.contains("command") && names.contains("args")) {
    add_commands(setup);
  } else if (names.contains("run_for") && names.contains("exit_code")) {
    setup.runs_programs = false;
    add_timed(setup, names.contains("ignore_kill") && names.contains("stdout_string"));
  }
  return ok_status();
}

}  // namespace drover::conformance
