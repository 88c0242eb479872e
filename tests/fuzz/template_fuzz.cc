// One input as a template of -t, over an object like the API's.
#include <nlohmann/json.hpp>
#include <string_view>

#include "drover/text_template.h"

void fuzz_template(std::string_view text);

void fuzz_template(std::string_view text) {
  using namespace drover;
  static const nlohmann::json kObject = nlohmann::json::parse(
      R"({"A": "text", "B": [1, 2.5, null, "é", true], "C": {"x": {"y": []}, "z": -9223372036854775808}})");
  if (auto form = text_template::Template::parse(text)) (void)form->run(kObject);
}
