#include "functions.h"

#include <map>
#include <nlohmann/json.hpp>
#include <vector>

namespace drover::text_template {
namespace {

using nlohmann::json;
using Arguments = std::span<const Value>;

Status wrong_type(const json& value, std::string_view expected) {
  return invalid_argument("expected " + std::string(expected) + ", this is " + std::string(type_of(value)));
}

// ---- comparison

enum class Basic { null, boolean, integer, real, text, none };

Basic basic_kind(const json& value) {
  if (value.is_null()) return Basic::null;
  if (value.is_boolean()) return Basic::boolean;
  if (value.is_number_float()) return Basic::real;
  if (value.is_number()) return Basic::integer;
  return value.is_string() ? Basic::text : Basic::none;
}

Status incomparable(const json& a, const json& b) {
  return invalid_argument("values of the types " + std::string(type_of(a)) + " and " + std::string(type_of(b)) +
                          " cannot be compared");
}

// Null equals null only; everything else must be of one kind.
Result<bool> equal(const json& a, const json& b) {
  Basic x = basic_kind(a), y = basic_kind(b);
  if (x == Basic::none || y == Basic::none) return incomparable(a, b);
  if (x != y && x != Basic::null && y != Basic::null) return incomparable(a, b);
  return x == y && a == b;
}

Result<Value> eq(Arguments arguments) {
  for (size_t i = 1; i < arguments.size(); ++i) {
    DROVER_TRY(bool is_equal, equal(*arguments[0], *arguments[i]));
    if (is_equal) return value_of(true);
  }
  return value_of(false);
}

Result<Value> ne(Arguments arguments) {
  DROVER_TRY(bool is_equal, equal(*arguments[0], *arguments[1]));
  return value_of(!is_equal);
}

Result<bool> less(const json& a, const json& b) {
  Basic kind = basic_kind(a);
  if (kind != basic_kind(b) || kind == Basic::none || kind == Basic::null || kind == Basic::boolean) {
    return incomparable(a, b);
  }
  return a < b;
}

Result<Value> lt(Arguments arguments) {
  DROVER_TRY(bool is_less, less(*arguments[0], *arguments[1]));
  return value_of(is_less);
}

Result<Value> gt(Arguments arguments) {
  DROVER_TRY(bool is_less, less(*arguments[0], *arguments[1]));
  return value_of(!is_less && *arguments[0] != *arguments[1]);
}

Result<Value> le(Arguments arguments) {
  DROVER_TRY(bool is_less, less(*arguments[0], *arguments[1]));
  return value_of(is_less || *arguments[0] == *arguments[1]);
}

Result<Value> ge(Arguments arguments) {
  DROVER_TRY(bool is_less, less(*arguments[0], *arguments[1]));
  return value_of(!is_less);
}

Result<Value> negated(Arguments arguments) { return value_of(!is_true(*arguments[0])); }

// ---- parts of values

Result<Value> length(Arguments arguments) {
  const json& value = *arguments[0];
  if (value.is_string()) return value_of(value.get_ref<const std::string&>().size());
  if (value.is_array() || value.is_object()) return value_of(value.size());
  return wrong_type(value, "a string, a list or a map");
}

// A place in something of that size.
Result<size_t> place_of(const json& key, size_t size, bool may_be_end) {
  if (basic_kind(key) != Basic::integer) return wrong_type(key, "an integer as an index");
  if (key < 0 || key > size || (key == size && !may_be_end)) {
    return invalid_argument("the index " + key.dump() + " is outside of these " + std::to_string(size));
  }
  return key.get<size_t>();
}

Result<Value> index(Arguments arguments) {
  Value value = arguments[0];
  for (const Value& key : arguments.subspan(1)) {
    if (value->is_object()) {
      if (!key->is_string()) return wrong_type(*key, "a string as the key of a map");
      auto found = value->find(key->get_ref<const std::string&>());
      value = found == value->end() ? no_value() : part_of(value, *found);
    } else if (value->is_array()) {
      DROVER_TRY(size_t place, place_of(*key, value->size(), false));
      value = part_of(value, (*value)[place]);
    } else if (value->is_string()) {
      const std::string& text = value->get_ref<const std::string&>();
      DROVER_TRY(size_t place, place_of(*key, text.size(), false));
      value = value_of(static_cast<unsigned char>(text[place]));
    } else {
      return wrong_type(*value, "a list, a map or a string to take a part of");
    }
  }
  return value;
}

Result<Value> slice(Arguments arguments) {
  const json& value = *arguments[0];
  if (!value.is_array() && !value.is_string()) return wrong_type(value, "a list or a string to cut");
  if (arguments.size() > 4) return invalid_argument("there are too many indexes");
  if (arguments.size() == 4 && value.is_string()) return invalid_argument("a string takes two indexes at most");
  size_t size = value.is_array() ? value.size() : value.get_ref<const std::string&>().size();
  size_t bounds[3] = {0, size, size};
  for (size_t i = 1; i < arguments.size(); ++i) {
    DROVER_TRY(bounds[i - 1], place_of(*arguments[i], size, true));
  }
  if (bounds[0] > bounds[1] || bounds[1] > bounds[2]) {
    return invalid_argument("the index " + std::to_string(bounds[0]) + " is larger than the one behind it");
  }
  if (value.is_string()) return value_of(value.get_ref<const std::string&>().substr(bounds[0], bounds[1] - bounds[0]));
  auto begin = value.begin();
  return value_of(json(
      json::array_t(begin + static_cast<std::ptrdiff_t>(bounds[0]), begin + static_cast<std::ptrdiff_t>(bounds[1]))));
}

// ---- text

Result<Value> print(Arguments arguments) { return value_of(print_all(arguments)); }
Result<Value> println(Arguments arguments) { return value_of(print_line(arguments)); }

Result<Value> printf(Arguments arguments) {
  if (!arguments[0]->is_string()) return wrong_type(*arguments[0], "a string as the format");
  return value_of(print_format(arguments[0]->get_ref<const std::string&>(), arguments.subspan(1)));
}

// The text that html, js and urlquery change: the values as print writes them, but for those that are not there.
std::string text_of(Arguments arguments) {
  static const Value kNone = value_of("<no value>");
  std::vector<Value> shown(arguments.begin(), arguments.end());
  for (Value& value : shown) {
    if (value->is_null()) value = kNone;
  }
  return print_all(shown);
}

Result<Value> html(Arguments arguments) {
  std::string out;
  for (char c : text_of(arguments)) {
    if (c == '<')
      out += "&lt;";
    else if (c == '>')
      out += "&gt;";
    else if (c == '&')
      out += "&amp;";
    else if (c == '"')
      out += "&#34;";
    else if (c == '\'')
      out += "&#39;";
    else if (c == '\0')
      append_character(out, 0xfffd);
    else
      out += c;
  }
  return value_of(std::move(out));
}

Result<Value> js(Arguments arguments) {
  std::string out;
  for (char c : text_of(arguments)) {
    auto byte = static_cast<unsigned char>(c);
    if (c == '\\' || c == '\'' || c == '"') {
      (out += '\\') += c;
    } else if (byte < 0x20 || byte == 0x7f || c == '<' || c == '>' || c == '&' || c == '=') {
      ((out += "\\u00") += "0123456789ABCDEF"[byte >> 4]) += "0123456789ABCDEF"[byte & 15];
    } else {
      out += c;
    }
  }
  return value_of(std::move(out));
}

Result<Value> urlquery(Arguments arguments) {
  std::string out;
  for (char c : text_of(arguments)) {
    auto byte = static_cast<unsigned char>(c);
    bool is_plain = (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
                    std::string_view("-_.~").find(c) != std::string_view::npos;
    if (is_plain)
      out += c;
    else if (c == ' ')
      out += '+';
    else
      ((out += '%') += "0123456789ABCDEF"[byte >> 4]) += "0123456789ABCDEF"[byte & 15];
  }
  return value_of(std::move(out));
}

struct Function {
  size_t least, most;
  Result<Value> (*call)(Arguments);
};

constexpr size_t kAny = static_cast<size_t>(-1);

const std::map<std::string_view, Function>& functions() {
  static const std::map<std::string_view, Function> kFunctions = {{"eq", {2, kAny, eq}},
                                                                  {"ge", {2, 2, ge}},
                                                                  {"gt", {2, 2, gt}},
                                                                  {"html", {0, kAny, html}},
                                                                  {"index", {1, kAny, index}},
                                                                  {"js", {0, kAny, js}},
                                                                  {"le", {2, 2, le}},
                                                                  {"len", {1, 1, length}},
                                                                  {"lt", {2, 2, lt}},
                                                                  {"ne", {2, 2, ne}},
                                                                  {"not", {1, 1, negated}},
                                                                  {"print", {0, kAny, print}},
                                                                  {"printf", {1, kAny, printf}},
                                                                  {"println", {0, kAny, println}},
                                                                  {"slice", {1, kAny, slice}},
                                                                  {"urlquery", {0, kAny, urlquery}}};
  return kFunctions;
}

}  // namespace

bool is_own_function(std::string_view name) { return name == "and" || name == "or" || functions().contains(name); }

Result<Value> call_own_function(std::string_view name, Arguments arguments) {
  const Function& function = functions().at(name);
  if (arguments.size() < function.least || arguments.size() > function.most) {
    return invalid_argument("takes " + std::to_string(function.least) + (function.most == kAny ? " or more" : "") +
                            " arguments, not " + std::to_string(arguments.size()));
  }
  return function.call(arguments);
}

bool is_true(const json& value) {
  if (value.is_boolean()) return value.get<bool>();
  if (value.is_number()) return value != 0;
  if (value.is_string()) return !value.get_ref<const std::string&>().empty();
  return !value.empty();
}

Value value_of(json value) { return std::make_shared<const json>(std::move(value)); }

const Value& no_value() {
  static const Value kNone = value_of(nullptr);
  return kNone;
}

}  // namespace drover::text_template
