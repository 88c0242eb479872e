// One input as a variable's file in both forms, and as the arguments of `var put`.
#include <string>
#include <string_view>

#include "plugins/cli/variables/spec.h"

void fuzz_variable_spec(std::string_view text);

void fuzz_variable_spec(std::string_view text) {
  using namespace drover;
  for (const char* form : {"hcl", "json"}) {
    const auto spec = cli::read_variable_spec(form, "f", std::string(text));
    if (!spec) continue;
    // A value that was read is printed as JSON that is read again. Text that is no UTF-8 becomes other text.
    const auto again = cli::read_variable_spec("json", "f", "{\"Items\":" + cli::items_json(spec->items) + "}");
    DROVER_CHECK(again.ok() && again->items.size() <= spec->items.size());
  }
  std::vector<std::string> words(1);
  for (const char c : text) c == ' ' ? void(words.emplace_back()) : void(words.back() += c);
  const auto arguments = cli::read_put_arguments(words);
  if (!arguments) return;
  cli::VariableSpec spec;
  (void)cli::add_pairs(*arguments, [](const std::string& path) -> Result<std::string> { return path; }, spec);
}
