#include "parse.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <set>

#include "decode.h"
#include "drover/hcl.h"
#include "drover/nearest.h"
#include "grammar.h"

namespace drover::jobspec {
namespace {

using nlohmann::json;

Status problems(const hcl::Diagnostics& diagnostics, const hcl::Source& source) {
  return invalid_argument(diagnostics.render(source));
}

// Variables, then locals, then the job.
class FileReader {
 public:
  FileReader(const hcl::File& file, const JobParser::Options& options, hcl::Diagnostics& diagnostics)
      : file_(file), options_(options), diagnostics_(diagnostics) {
    context_.functions = hcl::standard_functions();
  }

  json read() {
    for (const hcl::Attribute& attribute : file_.body.attributes) {
      error(attribute.name_range,
            "unknown argument \"" + attribute.name + "\" at the top of the file; only blocks may stand there");
    }
    variables();
    locals();
    const hcl::Block* job = nullptr;
    for (const hcl::Block& block : file_.body.blocks) {
      if (block.type == "job") {
        if (job) error(block.range, "a file holds one job; this is the second");
        if (!job) job = &block;
      } else if (block.type != "variable" && block.type != "variables" && block.type != "locals") {
        static constexpr std::string_view kBlocks[] = {"job", "variable", "variables", "locals"};
        error(block.range, "unknown block \"" + block.type + "\"", nearest_hint(block.type, kBlocks));
      }
    }
    if (!job) {
      error(file_.body.range, "the file holds no job block", "job \"name\" { … }");
      return {};
    }
    context_.keep_unknown_interpolation = true;  // ${NOMAD_…}, ${attr.…}: for the node to fill in
    hcl::NodeBlock block{.type = job->type,
                         .labels = job->labels,
                         .body = hcl::evaluate(job->body, context_, diagnostics_),
                         .range = job->range};
    return decode_job(block, diagnostics_);
  }

 private:
  void error(hcl::Range range, std::string text, std::string hint = {}) {
    diagnostics_.error(file_.source->name, range, std::move(text), std::move(hint));
  }

  // What was given on the command line or in the environment, as the declared type wants it.
  std::optional<hcl::Value> given(const std::string& name, std::string_view type) {
    auto at = options_.variables.find(name);
    if (at == options_.variables.end()) return std::nullopt;
    const hcl::Value text(at->second);
    if (type.empty() || type == "string" || type == "any") return text;
    if (type == "number") {
      if (auto number = hcl::as_number(text)) return hcl::Value(*number);
    } else if (type == "bool") {
      if (auto yes = hcl::as_boolean(text)) return hcl::Value(*yes);
    } else {
      hcl::Diagnostics own;
      auto expression = hcl::parse_expression("-var " + name, at->second, own);
      hcl::Value value = hcl::evaluate(expression, {}, own);
      if (!own.has_errors()) return value;
    }
    error({}, "the value given for variable \"" + name + "\" is no " + std::string(type));
    return hcl::Value();
  }

  void variables() {
    hcl::Object values;
    std::set<std::string> declared;
    for (const hcl::Block& block : file_.body.blocks) {
      if (block.type == "variables") {
        for (const hcl::Attribute& attribute : block.body.attributes) {
          declared.insert(attribute.name);
          auto own = given(attribute.name, "");
          values[attribute.name] = own ? *own : hcl::evaluate(attribute.expression, context_, diagnostics_);
        }
      }
      if (block.type != "variable") continue;
      if (block.labels.size() != 1) {
        error(block.range, "block \"variable\" takes one label", "variable \"name\" { … }");
        continue;
      }
      const std::string& name = block.labels.front();
      if (!declared.insert(name).second) error(block.range, "variable \"" + name + "\" is declared twice");
      std::string_view type;
      const hcl::Attribute* fallback = nullptr;
      for (const hcl::Attribute& attribute : block.body.attributes) {
        if (attribute.name == "type") {
          type = attribute.expression.text();
        } else if (attribute.name == "default") {
          fallback = &attribute;
        } else if (attribute.name != "description") {
          error(attribute.name_range, "unknown argument \"" + attribute.name + "\" in block \"variable\"");
        }
      }
      for (const hcl::Block& inner : block.body.blocks) {
        error(inner.range, "block \"" + inner.type + "\" of a variable is not supported by this version of drover");
      }
      if (auto own = given(name, type)) {
        values[name] = *own;
      } else if (fallback) {
        values[name] = hcl::evaluate(fallback->expression, context_, diagnostics_);
      } else {
        error(block.range, "variable \"" + name + "\" has no value",
              "give one with -var \"" + name + "=…\" or NOMAD_VAR_" + name);
      }
    }
    context_.variables["var"] = hcl::Value(std::move(values));
  }

  // In whatever order they refer to each other.
  void locals() {
    std::vector<const hcl::Attribute*> open;
    for (const hcl::Block& block : file_.body.blocks) {
      if (block.type != "locals") continue;
      for (const hcl::Attribute& attribute : block.body.attributes) open.push_back(&attribute);
    }
    hcl::Object values;
    while (!open.empty()) {
      const size_t before = open.size();
      std::erase_if(open, [&](const hcl::Attribute* attribute) {
        for (const hcl::Reference& reference : hcl::references(attribute->expression)) {
          const bool waits =
              reference.root == "local" && !reference.steps.empty() && reference.steps.front().is_string() &&
              std::ranges::any_of(open, [&](auto* other) { return other->name == reference.steps.front().string(); });
          if (waits) return false;
        }
        context_.variables["local"] = hcl::Value(values);
        values[attribute->name] = hcl::evaluate(attribute->expression, context_, diagnostics_);
        return true;
      });
      if (open.size() == before) {
        for (const hcl::Attribute* attribute : open)
          error(attribute->name_range, "local \"" + attribute->name + "\" refers to itself, perhaps through others");
        break;
      }
    }
    context_.variables["local"] = hcl::Value(std::move(values));
  }

  const hcl::File& file_;
  const JobParser::Options& options_;
  hcl::Diagnostics& diagnostics_;
  hcl::EvalContext context_;
};

// Which names are blocks in the JSON syntax, and with how many labels.
std::optional<size_t> json_blocks(std::span<const std::string> path, std::string_view name) {
  if (path.empty()) {
    if (name == "job" || name == "variable") return 1;
    if (name == "locals" || name == "variables") return 0;
    return std::nullopt;
  }
  if (path.front() != "job") return std::nullopt;
  const BlockRule* rule = &job_rule();
  for (const std::string& step : path.subspan(1)) {
    auto at = std::ranges::find(rule->blocks, step, &BlockRule::name);
    if (at == rule->blocks.end()) return std::nullopt;
    rule = &*at;
  }
  auto at = std::ranges::find(rule->blocks, name, &BlockRule::name);
  if (at == rule->blocks.end() || at->shape == Shape::free_form || at->shape == Shape::map) return std::nullopt;
  return at->label.empty() ? 0 : 1;
}

// {"Job": {…}} or the job itself, as the API takes it; nothing when the text is something else.
std::optional<json> api_form(std::string_view source) {
  json whole = json::parse(source, nullptr, false);
  if (whole.is_discarded() || !whole.is_object()) return std::nullopt;
  const auto find = [](const json& object, std::string_view name) {
    for (auto at = object.begin(); at != object.end(); ++at) {
      if (std::ranges::equal(
              at.key(), name, {}, [](unsigned char c) { return std::tolower(c); },
              [](unsigned char c) { return std::tolower(c); }))
        return at;
    }
    return object.end();
  };
  if (auto job = find(whole, "Job");
      job != whole.end() && job->is_object() && find(*job, "ID") != job->end() && find(*job, "ID")->is_string())
    return *job;
  if (auto id = find(whole, "ID"); id != whole.end() && id->is_string()) return whole;
  return std::nullopt;
}

}  // namespace

Result<std::string> Parser::parse(std::string_view source, const Options& options) const {
  hcl::Diagnostics diagnostics;
  hcl::File file;
  if (hcl::looks_like_json(source)) {
    if (auto job = api_form(source)) return job->dump();
    file = hcl::from_json_body(options.file_name, std::string(source), json_blocks, diagnostics);
  } else {
    file = hcl::parse(options.file_name, std::string(source), diagnostics);
  }
  if (diagnostics.has_errors()) return problems(diagnostics, *file.source);
  json job = FileReader(file, options, diagnostics).read();
  if (diagnostics.has_errors()) return problems(diagnostics, *file.source);
  return job.dump(-1, ' ', false, json::error_handler_t::replace);
}

}  // namespace drover::jobspec
