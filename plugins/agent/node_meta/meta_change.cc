#include "node_meta/meta_change.h"

#include <algorithm>
#include <nlohmann/json.hpp>

namespace drover::agent {
namespace {

using nlohmann::json;

bool is_letter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_'; }
bool goes_on(char c) { return is_letter(c) || (c >= '0' && c <= '9') || c == '-'; }

// Identifiers with dots between them, as in ${meta.site.rack}.
bool is_meta_key(std::string_view key) {
  bool begins = true;
  for (const char c : key) {
    if (c == '.' ? begins : !(begins ? is_letter(c) : goes_on(c))) return false;
    begins = c == '.';
  }
  return !begins;
}

}  // namespace

Result<MetaChanges> parse_meta(std::string_view text) {
  const json object = json::parse(text, nullptr, /*allow_exceptions=*/false);
  if (!object.is_object() || object.empty()) {
    return invalid_argument("missing required Meta object: texts by key, null to unset one");
  }
  MetaChanges changes;
  for (const auto& [key, value] : object.items()) {
    if (!is_meta_key(key)) {
      return invalid_argument("metadata key \"" + key +
                              "\" is not made of letters, digits, _ and -, with dots between words that begin with a "
                              "letter");
    }
    if (!value.is_string() && !value.is_null()) {
      return invalid_argument("the value of metadata key \"" + key + "\" is neither a text nor null");
    }
    changes[key] = value.is_null() ? std::nullopt : std::optional(value.get<std::string>());
  }
  return changes;
}

std::string meta_json(const MetaChanges& changes) {
  json object = json::object();
  for (const auto& [key, value] : changes) object[key] = value ? json(*value) : json();
  return object.dump(-1, ' ', false, json::error_handler_t::replace);
}

MetaChanges changed_meta(MetaChanges changes, const MetaChanges& next, const Variables& configured) {
  for (const auto& [key, value] : next) {
    if (value || configured.contains(key)) {
      changes[key] = value;
    } else {
      changes.erase(key);
    }
  }
  return changes;
}

Variables merged_meta(const Variables& configured, const MetaChanges& changes) {
  Variables merged = configured;
  for (const auto& [key, value] : changes) {
    if (value) {
      merged[key] = *value;
    } else {
      merged.erase(key);
    }
  }
  return merged;
}

}  // namespace drover::agent
