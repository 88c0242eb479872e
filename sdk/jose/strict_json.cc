#include "strict_json.h"

#include <nlohmann/json.hpp>
#include <set>
#include <string>
#include <vector>

#include "drover/jose.h"

namespace drover::jose {

using Json = nlohmann::json;

Result<Json> parse_object(std::string_view text) {
  std::vector<std::set<std::string>> open;
  bool is_double = false, is_deep = false;
  const auto look = [&](int depth, Json::parse_event_t event, Json& value) {
    is_deep = is_deep || depth > kMaxDepth;
    if (event == Json::parse_event_t::object_start) open.emplace_back();
    if (event == Json::parse_event_t::object_end) open.pop_back();
    if (event == Json::parse_event_t::key && !open.back().insert(value.get<std::string>()).second) is_double = true;
    return !is_deep;
  };
  Json object = Json::parse(text, look, /*allow_exceptions=*/false);
  if (is_deep) return invalid_argument("is nested too deep");
  if (is_double) return invalid_argument("has a member twice");
  if (object.is_discarded() || !object.is_object()) return invalid_argument("is no JSON object");
  return object;
}

std::string member_text(const Json& object, const char* name) {
  const auto at = object.find(name);
  return at != object.end() && at->is_string() ? at->get<std::string>() : std::string();
}

}  // namespace drover::jose
