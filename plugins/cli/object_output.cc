#include "object_output.h"

#include <nlohmann/json.hpp>

#include "drover/text_template.h"

namespace drover::cli {

Flag template_flag() { return with_value("t", "", "The API's object by this Go template"); }

std::vector<Flag> with_object_flags(std::vector<Flag> flags) {
  flags.push_back(on_off("json", "The API's object"));
  flags.push_back(template_flag());
  return flags;
}

std::optional<int> print_by_template(Run& run, const nlohmann::json& object) {
  if (!run.arguments.is_set("t")) return std::nullopt;
  auto form = text_template::Template::parse(run.arguments.value("t"));
  if (!form) return run.fail("Error in -t", form.status());
  auto text = form->run(object);
  if (!text) return run.fail("Error in -t", text.status());
  run.out << *text << "\n";
  return 0;
}

bool wants_object(const Run& run) { return run.arguments.on("json") || run.arguments.is_set("t"); }

std::optional<int> print_object(Run& run, const Response& answer) {
  return wants_object(run) ? print_object(run, answer.json()) : std::nullopt;
}

std::optional<int> print_object(Run& run, const nlohmann::json& object) {
  if (run.arguments.on("json") && run.arguments.is_set("t")) return run.usage("Error: -json and -t exclude each other");
  if (!run.arguments.on("json")) return print_by_template(run, object);
  run.out << object.dump(4) << "\n";
  return 0;
}

}  // namespace drover::cli
