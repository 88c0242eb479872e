// Output in a form of the user's own (`-t`): the language of Go's text/template over an API object.
//
// All of the language but methods: pipelines, variables, if, range with break and continue, with, define, template,
// block, comments, trim markers, and the functions and, or, not, eq, ne, lt, le, gt, ge, len, index, slice, print,
// printf, println, html, js, urlquery. An object is a map here, so what it does not have is "<no value>", no error.
//
// Pure. Bounded: kMaxTemplate bytes of template, and the limits below on nesting, evaluated steps and bytes of output.
#pragma once

#include <memory>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>

#include "drover/result.h"

namespace drover::cli {

inline constexpr size_t kMaxTemplate = 1 << 20;
inline constexpr size_t kMaxTemplateNesting = 100;
inline constexpr size_t kMaxTemplateSteps = 10'000'000;
inline constexpr size_t kMaxTemplateOutput = 64 << 20;

struct TemplateTrees;

class Template {
 public:
  // Errors: invalid_argument with line and column, "template 1:12: …".
  static Result<Template> parse(std::string_view text);

  // Errors: as parse, for what only the object shows; resource_exhausted beyond the limits.
  Result<std::string> run(const nlohmann::json& object) const;

 private:
  explicit Template(std::shared_ptr<const TemplateTrees> trees) : trees_(std::move(trees)) {}
  std::shared_ptr<const TemplateTrees> trees_;
};

}  // namespace drover::cli
