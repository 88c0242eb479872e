#include "variables/variable_functions.h"

#include <algorithm>
#include <nlohmann/json.hpp>

namespace drover::templates {
namespace {

constexpr std::string_view kNames[] = {"nomadVar", "nomadVarExists", "nomadVarList", "nomadVarListSafe"};

}  // namespace

bool VariableFunctions::has(std::string_view name) { return std::ranges::find(kNames, name) != std::end(kNames); }

Result<Seen> VariableFunctions::look(const VariableQuery& query) {
  Seen seen = reads_.look(question_of(reader_, query));
  if (seen.error.ok()) return seen;
  if (seen.error.code() != Code::permission_denied) return seen.error;
  return permission_denied(
      "Permission denied: a task reads nomad/jobs, nomad/jobs/JOB and what is its group's and its own below that, in "
      "its job's namespace, and what policies grant its job");
}

Result<Value> VariableFunctions::call(std::string_view name, Arguments arguments) {
  const bool is_list = name.starts_with("nomadVarList");
  if (arguments.size() > 1 || (!is_list && arguments.empty()))
    return invalid_argument(is_list ? "takes at most one argument, a prefix"
                                    : "takes one argument, the path of a variable");
  if (!reads_.are_possible()) return failed_precondition("variables cannot be read here");
  std::string text;
  if (!arguments.empty()) {
    DROVER_TRY(text, text_at(arguments, 0));
  }
  DROVER_TRY(const VariableQuery query, read_variable_query(text, is_list, region_));
  if (!is_list && query.path.empty()) return value_of(nullptr);
  DROVER_TRY(const Seen seen, look(query));
  const bool must_be_found = name == "nomadVar" || name == "nomadVarListSafe";
  if (seen.change == 0 || (must_be_found && !seen.is_found)) {
    missing_.insert((is_list ? "nomad.var.list(" : "nomad.var.block(") + text + ")");
    return is_list ? value_of(json::array()) : name == "nomadVarExists" ? value_of(false) : value_of(json::object());
  }
  if (name == "nomadVarExists") return value_of(seen.is_found);
  if (is_list) return value_of(*seen.value);
  return given_.emplace_back(Given{.items = value_of(*seen.value), .metadata = seen.metadata}).items;
}

Value VariableFunctions::method_of_items(const Value& items, const json& metadata, std::string_view name) const {
  if (name == "ItemsMap" || name == "Parent") return items;
  if (name == "Metadata") return value_of(metadata);
  if (name != "Keys" && name != "Values" && name != "Tuples") return nullptr;
  json list = json::array();
  for (const auto& [key, value] : items->items()) {
    if (name == "Tuples") {
      list.push_back({{"K", key}, {"V", value}});
    } else {
      list.push_back(name == "Keys" ? json(key) : value);
    }
  }
  return value_of(std::move(list));
}

Value VariableFunctions::method(const Value& value, std::string_view name) const {
  for (const Given& given : given_) {
    if (value.get() == given.items.get()) return method_of_items(given.items, *given.metadata, name);
    for (const auto& [key, item] : given.items->items()) {
      if (value.get() != &item) continue;
      if (name == "Key") return value_of(key);
      if (name == "Value") return value;
      if (name == "Parent") return given.items;
      return name == "Metadata" ? value_of(*given.metadata) : nullptr;
    }
  }
  return nullptr;
}

}  // namespace drover::templates
