#include <nlohmann/json.hpp>

#include "table.h"

namespace drover::templates {
namespace {

Status wrong(Arguments arguments, size_t at, std::string_view expected) {
  return invalid_argument("expected " + std::string(expected) + " as argument " + std::to_string(at + 1) +
                          ", this is " + std::string(text_template::type_of(*arguments[at])));
}

}  // namespace

Result<std::string> text_at(Arguments arguments, size_t at) {
  if (!arguments[at]->is_string()) return wrong(arguments, at, "a string");
  return arguments[at]->get<std::string>();
}

Result<int64_t> whole_at(Arguments arguments, size_t at) {
  if (!arguments[at]->is_number_integer()) return wrong(arguments, at, "an integer");
  return arguments[at]->get<int64_t>();
}

Result<const json*> list_at(Arguments arguments, size_t at) {
  if (!arguments[at]->is_array()) return wrong(arguments, at, "a list");
  return arguments[at].get();
}

Result<const json*> map_at(Arguments arguments, size_t at) {
  if (!arguments[at]->is_object()) return wrong(arguments, at, "a map");
  return arguments[at].get();
}

}  // namespace drover::templates
