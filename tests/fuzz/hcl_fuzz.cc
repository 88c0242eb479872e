// One input through everything that reads HCL from outside: both dialects, JSON, evaluation, rendering, formatting,
// types, configuration.
// Built into hcl_test, which feeds it mutations of a small corpus; links against libFuzzer as it stands.
#include <cstddef>
#include <cstdint>

#include "drover/config.h"
#include "drover/duration.h"
#include "drover/hcl.h"
#include "drover/hcl_type.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size);

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace drover;
  std::string text(reinterpret_cast<const char*>(data), size);
  hcl::EvalContext context;
  context.functions = hcl::standard_functions();
  context.variables["a"] = hcl::List{hcl::Object{{"b", 1}}, "x", hcl::Value()};
  for (bool keeps : {false, true}) {
    context.keep_unknown_interpolation = keeps;
    hcl::Diagnostics diagnostics;
    hcl::File file = hcl::parse("fuzz", text, diagnostics, keeps ? hcl::Dialect::legacy : hcl::Dialect::native);
    hcl::Node node = hcl::evaluate(file.body, context, diagnostics);
    for (const auto& [name, attribute] : node.attributes) {
      // A value that was read without a problem can be printed, and what was printed can be read.
      if (diagnostics.has_errors() || attribute.value.depth() >= hcl::kMaxNesting) continue;
      DROVER_CHECK(hcl::from_json(to_json(attribute.value)).ok());
    }
    for (const hcl::Attribute& attribute : file.body.attributes) {
      (void)hcl::references(attribute.expression);
      if (auto type = hcl::parse_type(attribute.expression, diagnostics))
        (void)hcl::convert(context.variables["a"], *type);
    }
    (void)diagnostics.render(*file.source);
  }
  hcl::Diagnostics diagnostics;
  hcl::evaluate(hcl::parse_template("fuzz", text, diagnostics), context, diagnostics);
  auto blocks = [](std::span<const std::string> path, std::string_view name) -> std::optional<size_t> {
    return name == "job" ? std::optional<size_t>(path.size() % 3) : std::nullopt;
  };
  hcl::File file = hcl::from_json_body("fuzz", text, blocks, diagnostics);
  hcl::evaluate(file.body, context, diagnostics);
  (void)diagnostics.render(*file.source);
  (void)parse_duration(text);
  // What was formatted once is not changed by formatting it again.
  if (Result<std::string> once = hcl::format("fuzz", text)) {
    Result<std::string> twice = hcl::format("fuzz", *once);
    DROVER_CHECK(twice.ok() && *twice == *once);
  }
  Result<ConfigBlock> config = parse_config("fuzz", text);
  if (config) (void)check_schema(*config, {{{.name = "job", .type = ConfigType::labelled_block}}});
  return 0;
}
