// One input through everything that parses HCL and evaluates nothing: both dialects, expressions, templates, types,
// references, layout, configuration.
#include <string_view>

#include "drover/config.h"
#include "drover/duration.h"
#include "drover/hcl.h"
#include "drover/hcl_type.h"

void fuzz_hcl_parser(std::string_view input);

void fuzz_hcl_parser(std::string_view input) {
  using namespace drover;
  const std::string text(input);
  for (hcl::Dialect dialect : {hcl::Dialect::native, hcl::Dialect::legacy}) {
    hcl::Diagnostics diagnostics;
    hcl::File file = hcl::parse("fuzz", text, diagnostics, dialect);
    for (const hcl::Attribute& attribute : file.body.attributes) {
      (void)hcl::references(attribute.expression);
      (void)hcl::parse_type(attribute.expression, diagnostics);
    }
    (void)diagnostics.render(*file.source);
  }
  hcl::Diagnostics diagnostics;
  (void)hcl::parse_expression("fuzz", text, diagnostics);
  (void)hcl::parse_template("fuzz", text, diagnostics);
  (void)parse_duration(text);
  // Formatting a second time changes nothing.
  if (Result<std::string> once = hcl::format("fuzz", text)) {
    Result<std::string> twice = hcl::format("fuzz", *once);
    DROVER_CHECK(twice.ok() && *twice == *once);
  }
  Result<ConfigBlock> config = parse_config("fuzz", text);
  if (config) (void)check_schema(*config, {{{.name = "job", .type = ConfigType::labelled_block}}});
}
