#include "variables/variable_output.h"

#include <unistd.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "drover/api/variables.pb.h"
#include "drover/hcl_value.h"
#include "drover/json.h"
#include "drover/text_template.h"
#include "output.h"
#include "variables/spec.h"

namespace drover::cli {
namespace {

std::string quoted(const std::string& text) {
  std::string out = nlohmann::json(text).dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
  for (const char* mark : {"${", "%{"}) {
    for (size_t at = 0; (at = out.find(mark, at)) != std::string::npos; at += 3) out.insert(at, 1, *mark);
  }
  return out;
}

bool is_identifier(const std::string& key) {
  return !key.empty() && (std::isalpha(static_cast<unsigned char>(key[0])) || key[0] == '_') &&
         std::ranges::all_of(key, [](unsigned char c) { return std::isalnum(c) || c == '_' || c == '-'; });
}

}  // namespace

std::vector<Flag> variable_output_flags(const std::string& forms) {
  return {with_value("out", "", forms + "; json where the output is no terminal"),
          with_value("template", "", "With -out=go-template: the template")};
}

Result<std::string> output_form(const Run& run, std::initializer_list<std::string_view> forms, std::string for_people) {
  const bool has_template = run.arguments.is_set("template");
  std::string form = run.arguments.value("out");
  if (form.empty()) form = has_template ? "go-template" : ::isatty(STDOUT_FILENO) == 1 ? std::move(for_people) : "json";
  if (std::ranges::find(forms, form) == forms.end()) {
    std::string known;
    for (const std::string_view each : forms) known += (known.empty() ? "" : ", ") + std::string(each);
    return invalid_argument("-out: \"" + form + "\" is none of " + known);
  }
  if (has_template != (form == "go-template")) return invalid_argument("-out=go-template and -template go together");
  return form;
}

std::string variable_table(const v1::Variable& variable) {
  std::vector<std::pair<std::string, std::string>> pairs = {{"Namespace", variable.namespace_()},
                                                            {"Path", variable.path()},
                                                            {"Create Time", full_time(variable.create_time())}};
  if (variable.modify_time() != variable.create_time())
    pairs.emplace_back("Modify Time", full_time(variable.modify_time()));
  pairs.emplace_back("Check Index", std::to_string(variable.modify_index()));
  const auto items = items_of(variable);
  return format_pairs(pairs) + "\nItems\n" + format_pairs({items.begin(), items.end()});
}

std::string variable_hcl(const v1::Variable& variable) {
  std::string out = "namespace    = " + quoted(variable.namespace_()) + "\npath         = " + quoted(variable.path()) +
                    "\ncreate_index = " + std::to_string(variable.create_index()) + "  # Set by server\nmodify_index = " +
                    std::to_string(variable.modify_index()) +
                    "  # Set by server; consulted for check-and-set\ncreate_time  = " +
                    std::to_string(variable.create_time()) + "  # Set by server\nmodify_time  = " +
                    std::to_string(variable.modify_time()) + "  # Set by server\n\nitems = {\n";
  for (const auto& [key, value] : items_of(variable))
    out += "  " + (is_identifier(key) ? key : quoted(key)) + " = " + quoted(value) + "\n";
  return out + "}\n";
}

std::optional<int> print_as_sent(Run& run, const std::string& form, const Response& answer) {
  if (form == "json") {
    run.out << answer.json().dump(2) << "\n";
    return 0;
  }
  if (form != "go-template") return std::nullopt;
  const auto made = text_template::Template::parse(run.arguments.value("template"));
  if (!made) return run.fail("Error in -template", made.status());
  const auto text = made->run(answer.json());
  if (!text) return run.fail("Error in -template", text.status());
  run.out << *text << "\n";
  return 0;
}

int print_variable(Run& run, const std::string& form, const v1::Variable& variable, const Response& answer) {
  if (form == "table") run.out << variable_table(variable);
  if (form == "hcl") run.out << variable_hcl(variable);
  return print_as_sent(run, form, answer).value_or(0);
}

std::optional<v1::Variable> conflict_of(const Status& status) {
  const std::string& text = status.message();
  const size_t first = text.find('{'), last = text.rfind('}');
  if (text.find("code: 409") == std::string::npos || first == std::string::npos || last == std::string::npos)
    return std::nullopt;
  v1::Variable found;
  if (!json_to_message(text.substr(first, last - first + 1), found).ok()) return std::nullopt;
  return found;
}

int print_conflict(Run& run, const v1::Variable& found, uint64_t given) {
  run.err << "Check-and-Set conflict\n\n  Your provided check-index (" << given
          << ") does not match the server-side index (" << found.modify_index() << ").\n";
  if (found.modify_index() > 0)
    run.err << "  The server-side item was last updated on " << full_time(found.modify_time()) << ".\n";
  run.err << "\n  If you are sure you want to perform this operation, add the -force or\n  -check-index="
          << found.modify_index() << " flag before the positional arguments.\n";
  return 1;
}

}  // namespace drover::cli
