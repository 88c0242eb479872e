#include "variables/spec.h"

#include <nlohmann/json.hpp>

#include "drover/api/variables.pb.h"
#include "drover/config.h"

namespace drover::cli {
namespace {

using Json = nlohmann::json;

ConfigSchema schema() {
  using enum ConfigType;
  return {.options = {{.name = "namespace", .help = "Where the variable is."},
                      {.name = "path", .help = "Its name."},
                      {.name = "create_index", .type = integer, .help = "Set by the servers."},
                      {.name = "modify_index",
                       .type = integer,
                       .help = "Set by the servers; compared when it is written.",
                       .min = 0},
                      {.name = "create_time", .type = any, .help = "Set by the servers."},
                      {.name = "modify_time", .type = any, .help = "Set by the servers."},
                      {.name = "items", .type = string_map, .help = "The texts by their names.", .is_secret = true}}};
}

Result<VariableSpec> read_hcl(const std::string& name, const std::string& text) {
  DROVER_TRY(const ConfigBlock raw, parse_config(name, text));
  DROVER_TRY(const ConfigBlock file, apply_schema(raw, schema()));
  VariableSpec spec{.name_space = file.string("namespace"),
                    .path = file.string("path"),
                    .modify_index = static_cast<uint64_t>(file.integer("modify_index"))};
  for (const auto& [key, value] : file.string_map("items")) spec.items[key] = value;
  return spec;
}

std::string text_in(const Json& object, const char* member) {
  const auto at = object.find(member);
  return at != object.end() && at->is_string() ? at->get<std::string>() : std::string();
}

Result<VariableSpec> read_json(const std::string& name, const std::string& text) {
  const Json object = Json::parse(text, nullptr, /*allow_exceptions=*/false);
  if (!object.is_object()) return invalid_argument(name + ": is no JSON object");
  VariableSpec spec{.name_space = text_in(object, "Namespace"), .path = text_in(object, "Path")};
  if (const auto index = object.find("ModifyIndex"); index != object.end() && !index->is_null()) {
    if (!index->is_number_unsigned()) return invalid_argument(name + ": ModifyIndex: expected a number");
    spec.modify_index = index->get<uint64_t>();
  }
  const auto items = object.find("Items");
  if (items == object.end() || items->is_null()) return spec;
  if (!items->is_object()) return invalid_argument(name + ": Items: expected an object of strings");
  for (const auto& [key, value] : items->items()) {
    if (!value.is_string()) return invalid_argument(name + ": Items[\"" + key + "\"]: expected a string");
    spec.items[key] = value.get<std::string>();
  }
  return spec;
}

}  // namespace

const char* const kVariableExample = R"(# Where the variable is. The flag -namespace, where it is given, wins.
# namespace = "default"

# Its name: letters, digits, and - _ ~ /
path = "path/to/variable"

# The index of the version that this one replaces, as var get -out=hcl writes it. It is compared when the variable is
# written, unless -force is given. Without it the variable must be new.
# modify_index = 0

# The texts by their names, 64 KiB in all. They are encrypted wherever the servers keep them.
items {
  key1 = "value 1"
  key2 = "value 2"
}
)";

const char* const kVariableExampleJson = R"({
  "Namespace": "default",
  "Path": "path/to/variable",
  "Items": {
    "key1": "value 1",
    "key2": "value 2"
  }
}
)";

Result<VariableSpec> read_variable_spec(const std::string& form, const std::string& name, const std::string& text) {
  if (form == "json") return read_json(name, text);
  if (form == "hcl") return read_hcl(name, text);
  return invalid_argument("-in: \"" + form + "\" is neither hcl nor json");
}

Result<PutArguments> read_put_arguments(const std::vector<std::string>& words) {
  PutArguments arguments;
  bool has_place = false;
  for (const std::string& word : words) {
    const size_t equals = word.find('=');
    if (word == "-" || word.starts_with('@')) {
      if (arguments.file) return invalid_argument("two files: \"" + *arguments.file + "\" and \"" + word + "\"");
      if (!arguments.pairs.empty())
        return invalid_argument("the file \"" + word + "\" stands behind an item; write it before");
      arguments.file = word == "-" ? word : word.substr(1);
      has_place = true;
    } else if (equals != std::string::npos) {
      if (equals == 0) return invalid_argument("an item without a key: \"=…\"");
      arguments.pairs.emplace_back(word.substr(0, equals), word.substr(equals + 1));
    } else if (has_place) {
      return invalid_argument("\"" + word + "\" is neither an item, key=value, nor the first argument, the path");
    } else {
      arguments.path = word;
      has_place = true;
    }
  }
  if (!has_place) return invalid_argument("neither a path nor a file is given");
  return arguments;
}

Status add_pairs(const PutArguments& arguments, const std::function<Result<std::string>(const std::string&)>& read,
                 VariableSpec& spec) {
  bool is_input_taken = arguments.file && *arguments.file == "-";
  for (const auto& [key, value] : arguments.pairs) {
    if (value.empty()) {
      spec.items.erase(key);
    } else if (value == "-") {
      if (std::exchange(is_input_taken, true)) return invalid_argument(key + "=-: standard input is read already");
      DROVER_TRY(spec.items[key], read("-").with_context(key));
    } else if (value.starts_with('@')) {
      DROVER_TRY(spec.items[key], read(value.substr(1)).with_context(key));
    } else {
      spec.items[key] = value.starts_with("\\@") || value == "\\-" ? value.substr(1) : value;
    }
  }
  return ok_status();
}

std::string items_json(const std::map<std::string, std::string>& items) {
  return Json(items).dump(-1, ' ', false, Json::error_handler_t::replace);
}

std::map<std::string, std::string> items_of(const v1::Variable& variable) {
  std::map<std::string, std::string> items;
  const Json object = Json::parse(variable.items(), nullptr, /*allow_exceptions=*/false);
  if (!object.is_object()) return items;
  for (const auto& [key, value] : object.items())
    items[key] = value.is_string() ? value.get<std::string>() : value.dump();
  return items;
}

}  // namespace drover::cli
