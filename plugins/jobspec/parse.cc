#include "parse.h"

#include <google/protobuf/descriptor.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "decode.h"
#include "drover/hcl.h"
#include "drover/hcl_expression.h"
#include "drover/json.h"
#include "drover/nearest.h"
#include "drover/v1/job.pb.h"
#include "grammar.h"
#include "variables.h"

namespace drover::jobspec {
namespace {

using nlohmann::json;

// Finds the job and refuses unknown words at the top of the file, before the job is evaluated.
const hcl::Block* find_job(const hcl::File& file, hcl::Diagnostics& diagnostics) {
  const auto error = [&](hcl::Range range, std::string text, std::string hint = {}) {
    diagnostics.error(file.source->name, range, std::move(text), std::move(hint));
  };
  for (const hcl::Attribute& attribute : file.body.attributes) {
    error(attribute.name_range,
          "unknown argument \"" + attribute.name + "\" at the top of the file; only blocks may stand there");
  }
  const hcl::Block* job = nullptr;
  for (const hcl::Block& block : file.body.blocks) {
    if (block.type == "job") {
      if (job) error(block.range, "a file holds one job; this is the second");
      if (!job) job = &block;
    } else if (block.type != "variable" && block.type != "variables" && block.type != "locals") {
      static constexpr std::string_view kBlocks[] = {"job", "variable", "variables", "locals"};
      error(block.range, "unknown block \"" + block.type + "\"", nearest_hint(block.type, kBlocks));
    }
  }
  if (!job) error(file.body.range, "the file holds no job block", "job \"name\" { … }");
  return job;
}

void list_literals(hcl::Body& body) {
  for (hcl::Attribute& attribute : body.attributes) attribute.expression = hcl::listed_literal(attribute.expression);
  for (hcl::Block& block : body.blocks) {
    if (block.type == "dynamic") {
      for (hcl::Block& content : block.body.blocks) list_literals(content.body);
    } else {
      list_literals(block.body);
    }
  }
}

// In a free-form block `labels = { … }` means what the block `labels { … }` means, a list of one object: drivers'
// schemas are written for that. Only what is written so: an object that a variable holds stays one, and JSON has blocks
// of its own. Dynamic blocks are not written out yet.
void list_literals_of_free_forms(hcl::Body& body, const BlockRule& rule) {
  for (hcl::Block& block : body.blocks) {
    const bool is_dynamic = block.type == "dynamic" && block.labels.size() == 1;
    auto known = std::ranges::find(rule.blocks, is_dynamic ? block.labels.front() : block.type, &BlockRule::name);
    if (known == rule.blocks.end()) continue;
    const auto visit = [&](hcl::Body& inner) {
      known->shape == Shape::free_form ? list_literals(inner) : list_literals_of_free_forms(inner, *known);
    };
    if (is_dynamic) {
      for (hcl::Block& content : block.body.blocks) visit(content.body);
    } else {
      visit(block.body);
    }
  }
}

json read_job(const hcl::File& file, const JobParser::Options& options, hcl::Diagnostics& diagnostics,
              OutsideFindings& outside) {
  const hcl::Block* job = find_job(file, diagnostics);
  hcl::EvalContext context;
  context.functions = options.folder ? hcl::file_functions(*options.folder) : hcl::disabled_file_functions();
  context.functions.insert(hcl::standard_functions().begin(), hcl::standard_functions().end());
  read_variables(file, options, context, diagnostics, outside);
  if (!job) return {};
  context.keep_unknown_interpolation = true;  // ${NOMAD_…}, ${attr.…}: for the node to fill in
  hcl::Body body = job->body;
  const Syntax syntax = hcl::looks_like_json(file.source->text) ? Syntax::json : Syntax::native;
  if (syntax == Syntax::native) list_literals_of_free_forms(body, job_rule());
  hcl::NodeBlock block{
      .type = job->type, .labels = job->labels, .body = hcl::evaluate(body, context, diagnostics), .range = job->range};
  return decode_job(block, syntax, diagnostics);
}

bool is_block_in_json(Shape shape) {
  return shape != Shape::free_form && shape != Shape::map && shape != Shape::list_map;
}

// Which names are blocks in the JSON syntax, and with how many labels.
std::optional<size_t> json_blocks(std::span<const std::string> path, std::string_view name) {
  if (path.empty()) {
    if (name == "job" || name == "variable") return 1;
    if (name == "locals" || name == "variables") return 0;
    return std::nullopt;
  }
  if (path.front() == "variable" && name == "validation") return 0;
  if (path.front() != "job") return std::nullopt;
  const BlockRule* rule = &job_rule();
  for (const std::string& step : path.subspan(1)) {
    auto at = std::ranges::find(rule->blocks, step, &BlockRule::name);
    if (at == rule->blocks.end()) return std::nullopt;
    rule = &*at;
  }
  auto at = std::ranges::find(rule->blocks, name, &BlockRule::name);
  if (at == rule->blocks.end() || !is_block_in_json(at->shape)) return std::nullopt;
  if (name == "identity") return 0;  // named by its attribute: a label could not be told from an argument
  return at->label.empty() ? 0 : 1;
}

// Nothing when the text is no JSON, or nested so deep that whoever walks the value could run out of stack.
std::optional<json> shallow_json(std::string_view source) {
  bool is_too_deep = false;
  const auto watch = [&](int depth, json::parse_event_t event, json&) {
    const bool opens = event == json::parse_event_t::object_start || event == json::parse_event_t::array_start;
    is_too_deep = is_too_deep || (opens && depth >= static_cast<int>(hcl::kMaxNesting));
    return !is_too_deep;
  };
  json whole = json::parse(source.begin(), source.end(), watch, false);
  if (is_too_deep || whole.is_discarded()) return std::nullopt;
  return whole;
}

// {"Job": {…}} or the job itself, as the API takes it; nothing when the text is something else.
std::optional<json> api_form(std::string_view source) {
  std::optional<json> read = shallow_json(source);
  if (!read || !read->is_object()) return std::nullopt;
  json& whole = *read;
  const auto find = [](json& object, std::string_view name) {
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
    return std::move(*job);
  if (auto id = find(whole, "ID"); id != whole.end() && id->is_string()) return read;
  return std::nullopt;
}

// With every field that the API has, for readers that look for them.
Result<std::string> with_all_fields(const std::string& job) {
  v1::Job message;
  DROVER_RETURN_IF_ERROR(json_to_message(job, message));
  return message_to_json(message);
}

}  // namespace

Result<JobParser::Parsed> Parser::parse(std::string_view source, const Options& options) const {
  hcl::Diagnostics diagnostics;
  hcl::File file;
  if (hcl::looks_like_json(source)) {
    if (auto job = api_form(source)) {
      DROVER_TRY(std::string whole, with_all_fields(job->dump()));
      return Parsed{std::move(whole), {}};
    }
    file = hcl::from_json_body(options.file_name, std::string(source), json_blocks, diagnostics);
  } else {
    file = hcl::parse(options.file_name, std::string(source), diagnostics);
  }
  if (diagnostics.has_errors()) return invalid_argument(diagnostics.render(*file.source));
  OutsideFindings outside;
  json job = read_job(file, options, diagnostics, outside);
  if (!outside.errors.empty() || diagnostics.has_errors()) {
    return invalid_argument(outside.errors + (diagnostics.has_errors() ? diagnostics.render(*file.source) : ""));
  }
  try {
    DROVER_TRY(std::string whole, with_all_fields(job.dump()));
    return Parsed{std::move(whole), std::move(outside.warnings)};
  } catch (const json::exception& problem) {  // the library's only way to say so
    return invalid_argument(options.file_name + ": the job holds text that is not UTF-8");
  }
}

}  // namespace drover::jobspec
