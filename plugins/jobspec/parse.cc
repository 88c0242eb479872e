#include "parse.h"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "decode.h"
#include "drover/hcl.h"
#include "drover/nearest.h"
#include "grammar.h"
#include "variables.h"

namespace drover::jobspec {
namespace {

using nlohmann::json;

// What may stand at the top of a file beside the job is known before the job is evaluated.
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

json read_job(const hcl::File& file, const JobParser::Options& options, hcl::Diagnostics& diagnostics,
              OutsideFindings& outside) {
  const hcl::Block* job = find_job(file, diagnostics);
  hcl::EvalContext context;
  context.functions = options.folder ? hcl::file_functions(*options.folder) : hcl::disabled_file_functions();
  context.functions.insert(hcl::standard_functions().begin(), hcl::standard_functions().end());
  read_variables(file, options, context, diagnostics, outside);
  if (!job) return {};
  context.keep_unknown_interpolation = true;  // ${NOMAD_…}, ${attr.…}: for the node to fill in
  hcl::NodeBlock block{.type = job->type,
                       .labels = job->labels,
                       .body = hcl::evaluate(job->body, context, diagnostics),
                       .range = job->range};
  return decode_job(block, diagnostics);
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

Result<JobParser::Parsed> Parser::parse(std::string_view source, const Options& options) const {
  hcl::Diagnostics diagnostics;
  hcl::File file;
  if (hcl::looks_like_json(source)) {
    if (auto job = api_form(source)) return Parsed{job->dump(), {}};
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
  return Parsed{job.dump(-1, ' ', false, json::error_handler_t::replace), std::move(outside.warnings)};
}

}  // namespace drover::jobspec
