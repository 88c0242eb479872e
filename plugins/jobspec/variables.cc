#include "variables.h"

#include <algorithm>
#include <map>
#include <optional>

#include "drover/hcl_type.h"
#include "drover/nearest.h"
#include "locals.h"

namespace drover::jobspec {
namespace {

using Assignment = JobParser::Assignment;

struct Validation {
  const hcl::Attribute* condition = nullptr;
  const hcl::Attribute* message = nullptr;
  hcl::Range range;
};

struct Declaration {
  hcl::Type type;
  std::optional<hcl::Value> value;
  bool is_declared_type = false;
  bool has_default = false;
  std::vector<Validation> validations;
  hcl::Range range;
};

// True when a value on a command line is taken as text; else it is an expression. A variable that
// declares nothing is a text.
bool takes_text(const Declaration& declaration) {
  using enum hcl::Type::Kind;
  const hcl::Type::Kind kind = declaration.type.kind;
  if (kind == any) return !declaration.is_declared_type && !declaration.has_default;
  return kind == string || kind == number || kind == boolean;
}

// The type of a variable that declares only a default.
hcl::Type default_type(const hcl::Value& value) {
  using enum hcl::Type::Kind;
  if (value.is_string()) return {.kind = string};
  if (value.is_number()) return {.kind = number};
  if (value.is_boolean()) return {.kind = boolean};
  if (value.is_list()) return {.kind = list, .elements = {hcl::Type{}}};
  return {};
}

class Reader {
 public:
  Reader(const hcl::File& file, const JobParser::Options& options, hcl::EvalContext& context,
         hcl::Diagnostics& diagnostics, OutsideFindings& outside)
      : file_(file), options_(options), context_(context), diagnostics_(diagnostics), outside_(outside) {}

  void read() {
    for (const hcl::Block& block : file_.body.blocks) {
      if (block.type == "variables") declare_short(block);
      if (block.type == "variable") declare(block);
    }
    for (const Assignment& assignment : options_.variables) {
      if (assignment.source == Assignment::Source::file) {
        assign_file(assignment);
      } else {
        assign(assignment);
      }
    }
    hcl::Object values;
    for (const auto& [name, declaration] : declared_) {
      if (!declaration.value) {
        error(declaration.range, "variable \"" + name + "\" has no value",
              "give one with -var \"" + name + "=…\", a -var-file, or NOMAD_VAR_" + name);
      }
      values[name] = declaration.value.value_or(hcl::Value());
    }
    context_.variables["var"] = hcl::Value(std::move(values));
    for (const auto& [name, declaration] : declared_) validate(name, declaration);
    read_locals(file_, context_, diagnostics_);
  }

 private:
  void error(hcl::Range range, std::string text, std::string hint = {}) {
    diagnostics_.error(file_.source->name, range, std::move(text), std::move(hint));
  }
  void outside_error(const std::string& text) { outside_.errors += "error: " + text + "\n"; }

  Declaration* add(const std::string& name, hcl::Range range) {
    auto [at, is_new] = declared_.try_emplace(name);
    if (!is_new) {
      error(range, "variable \"" + name + "\" is declared twice");
      return nullptr;
    }
    at->second.range = range;
    return &at->second;
  }

  // variables { name = default }
  void declare_short(const hcl::Block& block) {
    for (const hcl::Attribute& attribute : block.body.attributes) {
      Declaration* declaration = add(attribute.name, attribute.name_range);
      if (!declaration) continue;
      declaration->has_default = true;
      declaration->value = hcl::evaluate(attribute.expression, context_, diagnostics_);
      declaration->type = default_type(*declaration->value);
    }
    for (const hcl::Block& inner : block.body.blocks) {
      error(inner.range, "only arguments may stand in block \"variables\"", "variable \"name\" { … } stands beside it");
    }
  }

  void declare(const hcl::Block& block) {
    if (block.labels.size() != 1) {
      error(block.range, "block \"variable\" takes one label", "variable \"name\" { … }");
      return;
    }
    Declaration* declaration = add(block.labels.front(), block.range);
    if (!declaration) return;
    const hcl::Attribute* fallback = nullptr;
    static constexpr std::string_view kKnown[] = {"type", "default", "description", "validation"};
    for (const hcl::Attribute& attribute : block.body.attributes) {
      if (attribute.name == "type") {
        if (auto type = hcl::parse_type(attribute.expression, diagnostics_)) declaration->type = *std::move(type);
        declaration->is_declared_type = true;
      } else if (attribute.name == "default") {
        fallback = &attribute;
      } else if (attribute.name != "description") {
        error(attribute.name_range, "unknown argument \"" + attribute.name + "\" in block \"variable\"",
              nearest_hint(attribute.name, kKnown));
      }
    }
    for (const hcl::Block& inner : block.body.blocks) declare_validation(inner, *declaration);
    if (!fallback) return;
    declaration->has_default = true;
    hcl::Value value = hcl::evaluate(fallback->expression, context_, diagnostics_);
    if (!declaration->is_declared_type) {
      declaration->type = default_type(value);
      declaration->value = std::move(value);
      return;
    }
    Result<hcl::Value> converted = hcl::convert(value, declaration->type);
    if (!converted) {
      error(fallback->expression.range(), "the default is not of the variable's type: " + converted.status().message());
    }
    declaration->value = converted ? *converted : hcl::Value();
  }

  void declare_validation(const hcl::Block& block, Declaration& declaration) {
    if (block.type != "validation") {
      error(block.range, "unknown block \"" + block.type + "\" in block \"variable\"");
      return;
    }
    Validation validation{
        .condition = block.body.find("condition"), .message = block.body.find("error_message"), .range = block.range};
    for (const hcl::Attribute& attribute : block.body.attributes) {
      if (&attribute != validation.condition && &attribute != validation.message) {
        error(attribute.name_range, "unknown argument \"" + attribute.name + "\" in block \"validation\"");
      }
    }
    if (!validation.condition) error(block.range, "block \"validation\" needs the argument \"condition\"");
    if (!validation.message) error(block.range, "block \"validation\" needs the argument \"error_message\"");
    if (validation.condition && validation.message) declaration.validations.push_back(validation);
  }

  void validate(const std::string& name, const Declaration& declaration) {
    if (!declaration.value) return;
    for (const Validation& validation : declaration.validations) {
      hcl::Diagnostics problems;
      hcl::Value holds = hcl::evaluate(validation.condition->expression, context_, problems);
      hcl::Value message = hcl::evaluate(validation.message->expression, context_, problems);
      for (const hcl::Diagnostic& problem : problems) diagnostics_.add(problem);
      if (problems.has_errors()) continue;
      std::optional<bool> is_true = hcl::as_boolean(holds);
      if (!is_true) {
        error(validation.condition->expression.range(), "a condition is true or false");
      } else if (!*is_true) {
        error(declaration.range,
              "invalid value for variable \"" + name + "\": " + hcl::as_string(message).value_or(""));
      }
    }
  }

  std::string unknown_variable(const std::string& name) {
    std::vector<std::string_view> names;
    for (const auto& entry : declared_) names.push_back(entry.first);
    const std::string hint = nearest_hint(name, names);
    return "the file declares no variable \"" + name + "\"" + (hint.empty() ? "" : "; " + hint);
  }

  void assign(const Assignment& assignment) {
    const bool is_flag = assignment.source == Assignment::Source::command_line;
    const std::string place = is_flag ? "-var " + assignment.name : "NOMAD_VAR_" + assignment.name;
    auto found = declared_.find(assignment.name);
    if (found == declared_.end()) {
      if (is_flag) outside_error(place + ": " + unknown_variable(assignment.name));
      return;
    }
    hcl::Value value(assignment.text);
    if (!takes_text(found->second)) {
      hcl::Diagnostics problems;
      hcl::Expression expression = hcl::parse_expression(place, assignment.text, problems);
      value = hcl::evaluate(expression, {}, problems);
      if (problems.has_errors()) {
        outside_.errors += problems.render({.name = place, .text = assignment.text, .origin = {}});
        found->second.value = hcl::Value();
        return;
      }
    }
    set(found->second, place, value);
  }

  void set(Declaration& declaration, const std::string& place, const hcl::Value& value) {
    Result<hcl::Value> converted = hcl::convert(value, declaration.type);
    if (!converted) outside_error(place + ": " + converted.status().message());
    declaration.value = converted ? *converted : hcl::Value();
  }

  void assign_file(const Assignment& assignment) {
    hcl::Diagnostics problems;
    hcl::File file = hcl::looks_like_json(assignment.text)
                         ? hcl::from_json_body(
                               assignment.name, assignment.text, [](auto, auto) { return std::nullopt; }, problems)
                         : hcl::parse(assignment.name, assignment.text, problems);
    for (const hcl::Block& block : file.body.blocks) {
      problems.error(assignment.name, block.range,
                     "a variable file holds only arguments, not the block \"" + block.type + "\"");
    }
    for (const hcl::Attribute& attribute : file.body.attributes) {
      hcl::Value value = hcl::evaluate(attribute.expression, {}, problems);
      auto found = declared_.find(attribute.name);
      if (found != declared_.end()) {
        set(found->second, assignment.name + ": " + attribute.name, value);
      } else if (options_.strict) {
        problems.error(assignment.name, attribute.name_range, unknown_variable(attribute.name));
      } else {
        outside_.warnings.push_back(assignment.name + ": " + unknown_variable(attribute.name));
      }
    }
    if (problems.has_errors()) outside_.errors += problems.render(*file.source);
  }

  const hcl::File& file_;
  const JobParser::Options& options_;
  hcl::EvalContext& context_;
  hcl::Diagnostics& diagnostics_;
  OutsideFindings& outside_;
  std::map<std::string, Declaration, std::less<>> declared_;
};

}  // namespace

void read_variables(const hcl::File& file, const JobParser::Options& options, hcl::EvalContext& context,
                    hcl::Diagnostics& diagnostics, OutsideFindings& outside) {
  Reader(file, options, context, diagnostics, outside).read();
}

}  // namespace drover::jobspec
