#include <algorithm>
#include <cctype>
#include <charconv>
#include <nlohmann/json.hpp>
#include <vector>

#include "table.h"

namespace drover::templates {
namespace {

// ---- membership

// Whole numbers equal each other, fractions each other, strings each other; nothing else is found.
bool holds(const json& list, const json& wanted) {
  if (list.is_string()) {
    return wanted.is_string() && list.get_ref<const std::string&>().find(wanted.get_ref<const std::string&>()) !=
                                     std::string::npos;
  }
  if (!list.is_array()) return false;
  return std::ranges::any_of(list, [&](const json& item) {
    const bool same_kind = (item.is_number_integer() && wanted.is_number_integer()) ||
                           (item.is_number_float() && wanted.is_number_float()) ||
                           (item.is_string() && wanted.is_string()) || (item.is_boolean() && wanted.is_boolean());
    return same_kind && item == wanted;
  });
}

Result<Value> contains(Arguments arguments) { return value_of(holds(*arguments[1], *arguments[0])); }
Result<Value> in(Arguments arguments) { return value_of(holds(*arguments[0], *arguments[1])); }

Result<size_t> held(Arguments arguments) {
  DROVER_TRY(const json* wanted, list_at(arguments, 0));
  DROVER_TRY(const json* list, list_at(arguments, 1));
  return static_cast<size_t>(std::ranges::count_if(*wanted, [&](const json& one) { return holds(*list, one); }));
}

Result<Value> contains_all(Arguments arguments) {
  DROVER_TRY(const size_t count, held(arguments));
  return value_of(count == arguments[0]->size());
}
Result<Value> contains_any(Arguments arguments) {
  DROVER_TRY(const size_t count, held(arguments));
  return value_of(count > 0);
}
Result<Value> contains_none(Arguments arguments) {
  DROVER_TRY(const size_t count, held(arguments));
  return value_of(count == 0);
}
Result<Value> contains_not_all(Arguments arguments) {
  DROVER_TRY(const size_t count, held(arguments));
  return value_of(count < arguments[0]->size());
}

// ---- maps

// Puts a value at a path of keys, each a map within the other.
Status put(json& into, std::string_view path, const json& value) {
  json* at = &into;
  while (true) {
    const size_t slash = path.find('/');
    if (!at->is_object()) return invalid_argument("not a map: " + std::string(path));
    json& next = (*at)[std::string(path.substr(0, slash))];
    if (slash == std::string_view::npos) {
      next = value;
      return ok_status();
    }
    if (next.is_null()) next = json::object();
    at = &next;
    path.remove_prefix(slash + 1);
  }
}

Result<Value> explode_map(Arguments arguments) {
  DROVER_TRY(const json* map, map_at(arguments, 0));
  json out = json::object();
  for (const auto& [path, value] : map->items()) DROVER_RETURN_IF_ERROR(put(out, path, value));
  return value_of(std::move(out));
}

// Adds what `from` has; maps in maps likewise. What both have stays, or is taken over.
void merge(json& into, const json& from, bool takes_over) {
  for (const auto& [key, value] : from.items()) {
    const auto known = into.find(key);
    if (known == into.end()) {
      into[key] = value;
    } else if (known->is_object() && value.is_object()) {
      merge(*known, value, takes_over);
    } else if (takes_over) {
      *known = value;
    }
  }
}

Result<Value> merged(Arguments arguments, bool takes_over) {
  DROVER_TRY(const json* into, map_at(arguments, 0));
  DROVER_TRY(const json* from, map_at(arguments, 1));
  json out = *into;
  merge(out, *from, takes_over);
  return value_of(std::move(out));
}

Result<Value> merge_map(Arguments arguments) { return merged(arguments, false); }
Result<Value> merge_map_with_override(Arguments arguments) { return merged(arguments, true); }

// ---- lists of objects with tags

Result<Value> by_tag(Arguments arguments) {
  DROVER_TRY(const json* list, list_at(arguments, 0));
  json out = json::object();
  for (const json& item : *list) {
    if (!item.is_object() || !item.contains("Tags")) return invalid_argument("an element of the list has no tags");
    for (const json& tag : item["Tags"]) {
      if (tag.is_string()) out[tag.get<std::string>()].push_back(item);
    }
  }
  return value_of(std::move(out));
}

// ---- lists of pairs, as `ls` and `tree` of Consul give them

Result<std::pair<std::string, json>> pair_of(const json& item) {
  if (!item.is_object() || !item.contains("Key") || !item["Key"].is_string() || !item.contains("Value"))
    return invalid_argument("an element of the list is no pair of a key and a value");
  return std::pair(item["Key"].get<std::string>(), item["Value"]);
}

// By the first part of their keys, then by the rest. A key of one part is left out.
Result<Value> by_key(Arguments arguments) {
  DROVER_TRY(const json* list, list_at(arguments, 0));
  json out = json::object();
  for (const json& item : *list) {
    DROVER_TRY(const auto pair, pair_of(item));
    const size_t slash = pair.first.find('/');
    if (slash == std::string::npos || slash + 1 == pair.first.size()) continue;
    json below = item;
    below["Key"] = pair.first.substr(slash + 1);
    out[pair.first.substr(0, slash)][pair.first.substr(slash + 1)] = std::move(below);
  }
  return value_of(std::move(out));
}

// The values in maps within maps, one for each part of their keys.
Result<Value> explode(Arguments arguments) {
  DROVER_TRY(const json* list, list_at(arguments, 0));
  json flat = json::object();
  for (const json& item : *list) {
    DROVER_TRY(auto pair, pair_of(item));
    flat[std::move(pair.first)] = std::move(pair.second);
  }
  const Value value = value_of(std::move(flat));
  return explode_map(std::span(&value, 1));
}

// ---- lists of services, as `service` of Consul gives them

// One part of a group's name: the entry of the service's meta, "_no_KEY_" without one. With "|int" behind its key it is
// a number of at least five digits.
Result<std::string> meta_part(const json& meta, const std::string& wish) {
  constexpr std::string_view kInt = "|int";
  const bool is_int = wish.ends_with(kInt);
  const std::string key = is_int ? wish.substr(0, wish.size() - kInt.size()) : wish;
  const auto at = meta.find(key);
  const std::string text = at != meta.end() && at->is_string() ? at->get<std::string>() : std::string();
  if (!is_int) return text.empty() ? "_no_" + key + "_" : text;
  int64_t number = 0;
  const char* const end = text.data() + text.size();
  const auto [stopped, error] = std::from_chars(text.data(), end, number);
  if (!text.empty() && (error != std::errc() || stopped != end))
    return invalid_argument("the meta entry \"" + key + "\" is no number: \"" + text + "\"");
  std::string digits = std::to_string(number < 0 ? -number : number);
  const size_t width = number < 0 ? 4 : 5;  // with its sign
  if (digits.size() < width) digits.insert(0, width - digits.size(), '0');
  return (number < 0 ? "-" : "") + digits;
}

Result<Value> by_meta(Arguments arguments) {
  DROVER_TRY(const std::string wishes, text_at(arguments, 0));
  DROVER_TRY(const json* list, list_at(arguments, 1));
  json out = json::object();
  for (const json& item : *list) {
    if (!item.is_object() || !item.contains("ServiceMeta") || !item["ServiceMeta"].is_object())
      return invalid_argument("an element of the list is no service of Consul");
    std::string name;
    for (size_t from = 0; from <= wishes.size();) {
      const size_t end = std::min(wishes.find(',', from), wishes.size());
      DROVER_TRY(const std::string part, meta_part(item["ServiceMeta"], wishes.substr(from, end - from)));
      name += (from == 0 ? "" : "_") + part;
      from = end + 1;
    }
    const auto is_plain = [](unsigned char c) { return std::isalnum(c) != 0 || c == '_' || c == '-'; };
    std::ranges::replace_if(name, [&](char c) { return !is_plain(c); }, '_');
    out[name].push_back(item);
  }
  return value_of(std::move(out));
}

}  // namespace

const FunctionTable& list_functions() {
  static const FunctionTable kTable = {{"byKey", {1, 1, by_key}},
                                       {"byMeta", {2, 2, by_meta}},
                                       {"byTag", {1, 1, by_tag}},
                                       {"contains", {2, 2, contains}},
                                       {"containsAll", {2, 2, contains_all}},
                                       {"containsAny", {2, 2, contains_any}},
                                       {"containsNone", {2, 2, contains_none}},
                                       {"containsNotAll", {2, 2, contains_not_all}},
                                       {"explode", {1, 1, explode}},
                                       {"explodeMap", {1, 1, explode_map}},
                                       {"in", {2, 2, in}},
                                       {"mergeMap", {2, 2, merge_map}},
                                       {"mergeMapWithOverride", {2, 2, merge_map_with_override}}};
  return kTable;
}

}  // namespace drover::templates
