// One input as a body, an expression and a template, evaluated with all functions: the result can be printed, the
// printed text can be read, and a number read from its own text is the same.
#include <string_view>

#include "drover/hcl.h"
#include "drover/hcl_type.h"

void fuzz_hcl_evaluator(std::string_view input);

namespace {

using namespace drover;

void check(const hcl::Value& value) {
  if (value.depth() >= hcl::kMaxNesting) return;
  const std::string text = to_json(value);
  Result<hcl::Value> read = hcl::from_json(text);
  DROVER_CHECK(read.ok());
  DROVER_CHECK(value.has_unknown() || to_json(*read).size() <= text.size());
  if (value.is_number()) DROVER_CHECK(text.size() <= value.number().text_size());
}

}  // namespace

void fuzz_hcl_evaluator(std::string_view input) {
  const std::string text(input);
  hcl::EvalContext context;
  context.functions = hcl::standard_functions();
  context.variables["a"] = hcl::List{hcl::Object{{"b", 1}}, "x", hcl::Value()};
  context.variables["n"] = *hcl::Number::parse("12345678901234567890.125");
  for (bool keeps : {false, true}) {
    context.keep_unknown_interpolation = keeps;
    hcl::Diagnostics diagnostics;
    hcl::File file = hcl::parse("fuzz", text, diagnostics, keeps ? hcl::Dialect::legacy : hcl::Dialect::native);
    hcl::Node node = hcl::evaluate(file.body, context, diagnostics);
    for (const auto& [name, attribute] : node.attributes) {
      if (!diagnostics.has_errors()) check(attribute.value);
    }
    for (const hcl::Attribute& attribute : file.body.attributes) {
      if (auto type = hcl::parse_type(attribute.expression, diagnostics))
        (void)hcl::convert(context.variables["a"], *type);
    }
    (void)diagnostics.render(*file.source);
  }
  for (bool is_template : {false, true}) {
    hcl::Diagnostics diagnostics;
    hcl::Expression expression =
        is_template ? hcl::parse_template("fuzz", text, diagnostics) : hcl::parse_expression("fuzz", text, diagnostics);
    if (diagnostics.has_errors()) continue;
    hcl::Value value = hcl::evaluate(expression, context, diagnostics);
    if (!diagnostics.has_errors()) check(value);
  }
}
