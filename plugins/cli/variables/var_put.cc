// var put.
#include <nlohmann/json.hpp>

#include "cli_command.h"
#include "drover/api/variables.pb.h"
#include "input.h"
#include "variables/spec.h"
#include "variables/variable_output.h"

namespace drover::cli {
namespace {

// HCL or JSON: -in, or the ending of the file's name.
Result<std::string> form_of(const Run& run, const std::string& file) {
  if (run.arguments.is_set("in")) return run.arguments.value("in");
  for (const char* form : {"json", "hcl"}) {
    if (file.ends_with(std::string(".") + form)) return std::string(form);
  }
  return invalid_argument(file == "-" ? "standard input needs -in=hcl or -in=json"
                                      : file + " ends in neither .hcl nor .json: say -in=hcl or -in=json");
}

Result<VariableSpec> spec_of(Run& run, const PutArguments& arguments) {
  VariableSpec spec;
  if (arguments.file) {
    DROVER_TRY(const std::string form, form_of(run, *arguments.file));
    DROVER_TRY(const std::string text, read_text(run, *arguments.file));
    DROVER_TRY(spec, read_variable_spec(form, *arguments.file == "-" ? "<stdin>" : *arguments.file, text));
  }
  // The index is of another variable then.
  if (!arguments.path.empty() && arguments.path != spec.path) {
    spec.modify_index = 0;
    spec.path = arguments.path;
  }
  if (const std::string& asked = run.client.options().name_space; !asked.empty() && asked != spec.name_space) {
    if (!spec.name_space.empty()) spec.modify_index = 0;
    spec.name_space = asked;
  }
  DROVER_RETURN_IF_ERROR(add_pairs(arguments, [&](const std::string& path) { return read_text(run, path); }, spec));
  return spec;
}

int var_put(Run& run) {
  if (run.client.options().name_space == "*") return run.usage(kNoWildcard);
  const auto form = output_form(run, {"none", "json", "hcl", "table", "go-template"}, "none");
  if (!form) return run.usage(form.status().message());
  const auto arguments = read_put_arguments(run.arguments.positional());
  if (!arguments) return run.usage(arguments.status().message());
  const auto spec = spec_of(run, *arguments);
  if (!spec) return run.fail("Failed to parse input content", spec.status());
  const bool is_forced = run.arguments.on("force");
  if (is_forced && run.arguments.is_set("check-index")) return run.usage("-force and -check-index exclude each other");
  v1::ApplyVariableRequest request;
  request.set_path(spec->path);
  request.mutable_variable()->set_namespace_(spec->name_space);
  request.mutable_variable()->set_path(spec->path);
  request.mutable_variable()->set_items(items_json(spec->items));
  const std::string index =
      run.arguments.is_set("check-index") ? run.arguments.value("check-index") : std::to_string(spec->modify_index);
  if (!is_forced) request.set_cas(index);
  if (run.verbose()) run.err << "Writing to path \"" << spec->path << "\"\n";
  const auto written = run.client.call<v1::Variables::Apply>(request);
  if (!written) {
    if (const auto conflict = conflict_of(written.status()))
      return print_conflict(run, *conflict, std::strtoull(index.c_str(), nullptr, 10));
    return run.fail("Error creating variable", written.status());
  }
  const v1::Variable& variable = written->message.variable();
  const bool is_new = variable.create_index() == variable.modify_index();
  auto& said = *form == "none" ? run.out : run.err;
  if (*form == "none" || run.verbose())
    said << (is_new ? "Created" : "Updated") << " variable \"" << variable.path() << "\" with modify index "
         << variable.modify_index() << "\n";
  return print_variable(run, *form, variable, *written);
}

}  // namespace

std::vector<Definition> var_put_commands() {
  std::vector<Flag> flags = variable_output_flags("none, json, hcl, table or go-template");
  flags.push_back(with_value("in", "", "The form of the file: hcl or json; by its name otherwise"));
  flags.push_back(with_value("check-index", "", "Only if the variable has this index; 0: only if it is new"));
  flags.push_back(on_off("force", "Whatever is there"));
  flags.push_back(on_off("verbose", "Say more, on standard error"));
  return {{"var put",
           "Creates a variable or replaces its items.",
           "[path] [@file or -] [key=value...]",
           "A file is what var init or var get -out=hcl writes; - is standard input. key=@file and key=- take a value "
           "from\nthere, key=\\@text is a value that begins so, and key= takes the item away. Unless -force is given, "
           "the\nvariable must have the modify index of the file, or be new.\n",
           flags, 1, 1000, var_put}};
}

}  // namespace drover::cli
