// The tasks, checks and logins that the kit tries a plugin with, written by the author; tasks also guessed from the
// driver's schema.
#include <algorithm>

#include "drover/hcl.h"
#include "drover/hclspec.h"
#include "trial.h"

#include "drover/v1/check_provider.pb.h"

namespace drover::conformance {
namespace {

const std::vector<std::string_view> kTaskKinds = {"endless", "deaf", "ending", "talking", "invalid"};
const std::vector<std::string_view> kCheckKinds = {"passing", "warning", "critical", "slow", "invalid"};
const std::vector<std::string_view> kLoginKinds = {"good", "refused", "browser", "invalid"};
constexpr std::string_view kNodeVariable = "DROVER_NODE_ID";
constexpr auto kCommandTime = 20s;

// One text of a block into `to`, which it names. False: it is another name.
bool read_text(const std::string& name, const hcl::Value& value, std::string_view wanted, std::string& to) {
  if (name != wanted || !value.is_string()) return false;
  to = value.string();
  return true;
}

Status unknown_option(const std::string& name, const char* what) {
  return invalid_argument("\"" + name + "\" is unknown or of the wrong type; " + what);
}

Status read_task(const hcl::NodeBlock& block, TaskSpec& task) {
  task.config = hcl::Value(hcl::Object());
  for (const hcl::NodeBlock& inner : block.body.blocks) {
    if (inner.type != "config") return invalid_argument("unknown block \"" + inner.type + "\"; there is only config");
    task.config = hcl::object_of(inner.body);
  }
  for (const auto& [name, attribute] : block.body.attributes) {
    const hcl::Value& value = attribute.value;
    if (read_text(name, value, "stdout", task.out) || read_text(name, value, "stderr", task.err)) continue;
    const auto code = name == "exit_code" ? hcl::as_integer(value) : std::nullopt;
    if (code) {
      task.exit_code = static_cast<int>(*code);
    } else if (name == "config") {
      task.config = value;
    } else {
      return unknown_option(name, "a task has config, exit_code (a number), stdout and stderr (texts)");
    }
  }
  return ok_status();
}

Status read_check(const hcl::NodeBlock& block, CheckSpec& check) {
  for (const hcl::NodeBlock& inner : block.body.blocks) {
    if (inner.type != "options") return invalid_argument("unknown block \"" + inner.type + "\"; there is only options");
    check.options = hcl::object_of(inner.body);
  }
  for (const auto& [name, attribute] : block.body.attributes) {
    if (read_text(name, attribute.value, "type", check.type) ||
        read_text(name, attribute.value, "address", check.address))
      continue;
    const auto port = name == "port" ? hcl::as_integer(attribute.value) : std::nullopt;
    if (!port || *port < 0 || *port > 65'535)
      return unknown_option(name, "a check has type and address (texts), port (a number) and a block options");
    check.port = static_cast<uint32_t>(*port);
  }
  return check.type.empty() ? invalid_argument("the check has no type") : ok_status();
}

Status read_login(const hcl::NodeBlock& block, LoginSpec& login) {
  for (const hcl::NodeBlock& inner : block.body.blocks) {
    if (inner.type != "config") return invalid_argument("unknown block \"" + inner.type + "\"; there is only config");
    login.config = hcl::to_json(hcl::object_of(inner.body));
  }
  for (const auto& [name, attribute] : block.body.attributes) {
    const hcl::Value& value = attribute.value;
    if (!read_text(name, value, "token", login.token) && !read_text(name, value, "subject", login.subject) &&
        !read_text(name, value, "path", login.path) && !read_text(name, value, "visit", login.visit))
      return unknown_option(name, "a login has token, subject, path and visit (texts) and a block config");
  }
  return ok_status();
}

Status read_published(const hcl::NodeBlock& block, Setup& setup) {
  std::string command;
  if (!block.body.blocks.empty()) return invalid_argument("there are no blocks in it");
  for (const auto& [name, attribute] : block.body.attributes) {
    if (!read_text(name, attribute.value, "command", command))
      return unknown_option(name, "there is only command (a text)");
  }
  if (command.empty()) return invalid_argument("there is no command");
  setup.published = [command](const std::string& node_id) {
    return shell_output(command, std::string(kNodeVariable), node_id, kCommandTime);
  };
  return ok_status();
}

Result<std::string> label_of(const hcl::NodeBlock& block, const std::vector<std::string_view>& kinds) {
  if (block.labels.size() == 1 && std::ranges::find(kinds, block.labels[0]) != kinds.end()) return block.labels[0];
  std::string all;
  for (const std::string_view kind : kinds) all += (all.empty() ? "" : ", ") + std::string(kind);
  return invalid_argument("expected " + block.type + " \"KIND\" { … } with KIND one of " + all);
}

// Requires: `specs` holds what the file has said so far.
template <typename Spec>
Result<Spec*> new_spec(const hcl::NodeBlock& block, const std::vector<std::string_view>& kinds,
                       std::map<std::string, Spec, std::less<>>& specs) {
  DROVER_TRY(const std::string kind, label_of(block, kinds));
  const auto [spec, is_new] = specs.try_emplace(kind);
  if (!is_new) return invalid_argument("is described twice");
  return &spec->second;
}

Status read_block(const hcl::NodeBlock& block, const std::string& place, Setup& setup) {
  if (block.type == "task") {
    DROVER_TRY(TaskSpec* const task, new_spec(block, kTaskKinds, setup.tasks));
    task->place = place;
    return read_task(block, *task);
  }
  if (block.type == "check") {
    DROVER_TRY(CheckSpec* const check, new_spec(block, kCheckKinds, setup.checks));
    check->place = place;
    return read_check(block, *check);
  }
  if (block.type == "login") {
    DROVER_TRY(LoginSpec* const login, new_spec(block, kLoginKinds, setup.logins));
    return read_login(block, *login);
  }
  if (block.type == "published" && block.labels.empty())
    return setup.published ? invalid_argument("is described twice") : read_published(block, setup);
  return invalid_argument("unknown block; the file has blocks task, check, login and published");
}

// Checks the file by a schema of the plugin. A schema that cannot be used is a matter of the checks.
Status fits(const hclspec::Spec& schema, const hcl::Value& value, const std::string& place, const char* what) {
  if (place.empty() || !hclspec::check(schema).ok()) return ok_status();
  return hclspec::decode(schema, value).status().with_context(what).with_context(place);
}

TaskSpec shell(const std::string& script) {
  return {.config = hcl::Value(
              hcl::Object{{"command", "/bin/sh"}, {"args", hcl::List{hcl::Value("-c"), hcl::Value(script)}}})};
}

void add_commands(Setup& setup) {
  // No shell: for a moment it handles signals itself.
  const TaskSpec sleep = {
      .config = hcl::Value(hcl::Object{{"command", "/bin/sleep"}, {"args", hcl::List{hcl::Value("3600")}}})};
  setup.tasks.try_emplace("endless", sleep);
  setup.tasks.try_emplace("deaf", sleep);
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
                            "\" is unknown; the file has blocks task, check, login and published");
  if (root.blocks.empty())
    return invalid_argument(file_name + ": says nothing; the file has blocks task, check, login and published");
  for (const hcl::NodeBlock& block : root.blocks) {
    const std::string label = block.labels.empty() ? "" : " \"" + block.labels[0] + "\"";
    const std::string place = file_name + ":" + std::to_string(block.range.start.line) + ": " + block.type + label;
    DROVER_RETURN_IF_ERROR(read_block(block, place, setup).with_context(place));
  }
  return ok_status();
}

Status check_own_config(Trial& trial) {
  const auto own = trial.call<base::ConfigSchemaResponse>(base_method("ConfigSchema"), base::ConfigSchemaRequest());
  if (!own.ok() || !own->has_spec() || !hclspec::check(own->spec()).ok()) return ok_status();
  return trial.config_bytes().status();
}

Status check_tasks(Trial& trial, const Setup& setup) {
  const auto schema =
      trial.call<driver::TaskConfigSchemaResponse>("TaskConfigSchema", driver::TaskConfigSchemaRequest());
  if (!schema.ok() || !schema->has_spec()) return ok_status();
  for (const auto& [name, task] : setup.tasks)
    DROVER_RETURN_IF_ERROR(fits(schema->spec(), task.config, task.place, "config"));
  return ok_status();
}

Status check_checks(Trial& trial, const Setup& setup) {
  const auto all =
      trial.call<v1::DescribeChecksResponse>("/drover.v1.CheckPlugin/Describe", v1::DescribeChecksRequest());
  if (!all.ok()) return ok_status();
  for (const auto& [name, check] : setup.checks) {
    const auto type = std::ranges::find(all->types(), check.type, &v1::CheckType::name);
    if (type == all->types().end()) {
      if (!check.place.empty()) return invalid_argument(check.place + ": there is no type \"" + check.type + "\"");
    } else if (type->has_options()) {
      DROVER_RETURN_IF_ERROR(fits(type->options(), check.options, check.place, "options"));
    }
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
