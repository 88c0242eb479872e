// One input as JSON: a value, which survives its own text, and a body in HCL's JSON syntax.
#include <string_view>

#include "drover/hcl.h"

void fuzz_hcl_json(std::string_view input);

void fuzz_hcl_json(std::string_view input) {
  using namespace drover;
  const std::string text(input);
  if (Result<hcl::Value> value = hcl::from_json(text)) {
    Result<hcl::Value> again = hcl::from_json(to_json(*value));
    DROVER_CHECK(again.ok() && *again == *value);
    DROVER_CHECK(*hcl::from_json(to_json(*value, hcl::JsonEscapes::html_safe)) == *value);
  }
  auto blocks = [](std::span<const std::string> path, std::string_view name) -> std::optional<size_t> {
    return name == "job" ? std::optional<size_t>(path.size() % 3) : std::nullopt;
  };
  hcl::EvalContext context;
  context.functions = hcl::standard_functions();
  hcl::Diagnostics diagnostics;
  hcl::File file = hcl::from_json_body("fuzz", text, blocks, diagnostics);
  hcl::evaluate(file.body, context, diagnostics);
  (void)diagnostics.render(*file.source);
}
