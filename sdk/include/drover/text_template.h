// The language of Go's text/template over JSON values: output in a form of the user's own (`-t`), and templates of
// jobs.
//
// All of the language but methods of Go's types: pipelines, variables, if, range with break and continue, with, define,
// template, block, comments, trim markers, and the functions and, or, not, eq, ne, lt, le, gt, ge, len, index, slice,
// print, printf, println, html, js, urlquery. An object is a map here, so what it does not have is "<no value>", no
// error. Whoever runs a template may add functions.
//
// Pure, but for functions that are added. Bounded: kMaxTemplate bytes of template, and the limits below on nesting,
// evaluated steps and bytes of output.
#pragma once

#include <cstdint>
#include <memory>
#include <nlohmann/json_fwd.hpp>
#include <span>
#include <string>
#include <string_view>

#include "drover/result.h"

namespace drover::text_template {

inline constexpr size_t kMaxTemplate = 1 << 20;
inline constexpr size_t kMaxTemplateNesting = 100;
inline constexpr size_t kMaxTemplateSteps = 10'000'000;
inline constexpr size_t kMaxTemplateOutput = 64 << 20;

// A value of a template; shares its owner. Never null: what is not there is JSON's null.
using Value = std::shared_ptr<const nlohmann::json>;
Value value_of(nlohmann::json value);

// Functions beside those of the language. A name with a dot, "scratch.Get", is a method of what `scratch` stands for.
// One named "executeTemplate" is carried out here: it gives the text of a template that is defined.
class Functions {
 public:
  virtual ~Functions() = default;
  virtual bool has(std::string_view name) const = 0;
  // Requires: has(name). Errors: without a place, which is added.
  virtual Result<Value> call(std::string_view name, std::span<const Value> arguments) = 0;
  // The value that `.name` gives where it is no key of the value; null: there is none.
  virtual Value method(const Value& value, std::string_view name) { return (void)value, (void)name, nullptr; }
};

struct Syntax {
  std::string_view left = "{{", right = "}}";  // around actions; not empty
  const Functions* functions = nullptr;        // null: none are added
};

struct Options {
  Functions* functions = nullptr;     // that `parse` knew; null: none
  bool missing_key_is_error = false;  // a key that a map does not have; else it is "<no value>"
};

struct Trees;

class Template {
 public:
  // Errors: invalid_argument with line and column, "template 1:12: …".
  static Result<Template> parse(std::string_view text, const Syntax& syntax = {});

  // Errors: as parse, for what only the object shows; resource_exhausted beyond the limits; those of functions.
  Result<std::string> run(const nlohmann::json& object, const Options& options = {}) const;

 private:
  explicit Template(std::shared_ptr<const Trees> trees) : trees_(std::move(trees)) {}
  std::shared_ptr<const Trees> trees_;
};

// --- for functions

std::string printed(const nlohmann::json& value);       // as %v
std::string_view type_of(const nlohmann::json& value);  // int, []interface {}, …

// One character of UTF-8 text; a byte that begins none counts as one, is_valid says so. Requires: text is not empty.
struct Character {
  uint32_t point = 0xfffd;
  size_t size = 1;
  bool is_valid = false;
};
Character first_character(std::string_view text);
void append_character(std::string& out, uint32_t point);

}  // namespace drover::text_template
