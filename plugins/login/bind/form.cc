#include "bind/form.h"

#include "drover/object_name.h"
#include "drover/trim.h"

namespace drover::login {
namespace {

bool is_value_name(std::string_view name) { return !name.empty() && is_alphanumeric(name, "_-."); }

}  // namespace

Result<std::string> fill_in(std::string_view form, const Values& values) {
  std::string text;
  while (!form.empty()) {
    const size_t place = form.find("${");
    text += form.substr(0, place);
    if (place == std::string_view::npos) break;
    if (place > 0 && form[place - 1] == '$') {
      text += '{';
      form.remove_prefix(place + 2);
      continue;
    }
    const size_t end = form.find('}', place);
    if (end == std::string_view::npos) return invalid_argument("expected } to end ${");
    const std::string_view name = trim(form.substr(place + 2, end - place - 2));
    if (!is_value_name(name)) return invalid_argument("\"" + std::string(name) + "\" is no name of a value");
    const auto value = values(name);
    if (!value) return invalid_argument("unknown variable accessed: " + std::string(name));
    text += *value;
    form.remove_prefix(end + 1);
  }
  return text;
}

Status check_form(std::string_view form) {
  return fill_in(form, [](std::string_view) { return std::optional<std::string>(""); }).status();
}

}  // namespace drover::login
