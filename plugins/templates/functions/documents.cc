#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

#include "drover/hcl.h"
#include "table.h"

namespace drover::templates {
namespace {

// ---- JSON

// Numbers become what Go makes of them: fractions.
void make_floats(json& value) {
  if (value.is_number()) value = value.get<double>();
  if (!value.is_structured()) return;
  for (json& inner : value) make_floats(inner);
}

Result<Value> parse_json(Arguments arguments) {
  DROVER_TRY(const std::string text, text_at(arguments, 0));
  if (text.empty()) return value_of(json::object());
  DROVER_TRY(const hcl::Value checked, hcl::from_json(text));  // bounds the depth, and says where an error is
  json value = json::parse(hcl::to_json(checked));
  make_floats(value);
  return value_of(std::move(value));
}

// As Go writes numbers: the shortest digits, with an exponent only far from one.
std::string number_text(const json& value) {
  if (!value.is_number_float()) return value.dump();
  const double number = value.get<double>();
  if (std::floor(number) == number && std::abs(number) < 1e21) {
    char text[32];
    std::snprintf(text, sizeof text, "%.0f", number);
    return text;
  }
  std::string text = value.dump();
  if (const size_t at = text.find(".0e"); at != std::string::npos) text.erase(at, 2);
  return text;
}

std::string json_string(const std::string& text, bool escapes) {
  const std::string plain = json(text).dump(-1, ' ', false, json::error_handler_t::replace);
  if (!escapes) return plain;
  std::string out;
  for (const char c : plain) {
    if (c == '<') {
      out += "\\u003c";
    } else if (c == '>') {
      out += "\\u003e";
    } else if (c == '&') {
      out += "\\u0026";
    } else {
      out += c;
    }
  }
  return out;
}

// Writes with sorted keys. `indent` 0: on one line.
void write_json(const json& value, bool escapes, size_t indent, size_t depth, std::string& out) {
  if (value.is_string()) return void(out += json_string(value.get_ref<const std::string&>(), escapes));
  if (value.is_number()) return void(out += number_text(value));
  if (!value.is_structured()) return void(out += value.dump());
  const auto line = [&](size_t level) {
    if (indent > 0) out.append("\n").append(level * indent, ' ');
  };
  const bool is_map = value.is_object();
  out += is_map ? '{' : '[';
  bool first = true;
  for (const auto& [key, inner] : value.items()) {
    if (!std::exchange(first, false)) out += ',';
    line(depth + 1);
    if (is_map) out += json_string(key, escapes) + (indent > 0 ? ": " : ":");
    write_json(inner, escapes, indent, depth + 1, out);
  }
  if (!first) line(depth);
  out += is_map ? '}' : ']';
}

Result<Value> as_json(Arguments arguments, bool escapes, size_t indent) {
  std::string out;
  write_json(*arguments[0], escapes, indent, 0, out);
  return value_of(std::move(out));
}

Result<Value> to_json(Arguments arguments) { return as_json(arguments, true, 0); }
Result<Value> to_json_pretty(Arguments arguments) { return as_json(arguments, true, 2); }
Result<Value> to_unescaped_json(Arguments arguments) { return as_json(arguments, false, 0); }
Result<Value> to_unescaped_json_pretty(Arguments arguments) { return as_json(arguments, false, 2); }

// ---- YAML: block style, two spaces a level, lists not indented

Result<Value> parse_yaml(Arguments arguments) {
  DROVER_TRY(const std::string text, text_at(arguments, 0));
  if (text.find_first_not_of(" \t\r\n") == std::string::npos) return value_of(json::object());
  const hcl::Value argument(text);
  DROVER_TRY(const hcl::Value value, hcl::standard_functions().at("yamldecode")(std::span(&argument, 1)));
  return value_of(json::parse(hcl::to_json(value)));
}

// True when the text is read back as this text without quotes.
bool is_plain_yaml(const std::string& text) {
  constexpr std::string_view kMarks = ":#,[]{}&*!|>'\"%@`\\";
  if (text.empty() || text != text.substr(text.find_first_not_of(' ') == 0 ? 0 : text.size())) return false;
  if (text.back() == ' ' || text.find_first_of(kMarks) != std::string::npos) return false;
  if (text.front() == '-' || text.front() == '?' || text.front() == '=') return false;
  if (std::ranges::any_of(text, [](char c) { return static_cast<unsigned char>(c) < 0x20 || c == 0x7f; })) return false;
  const hcl::Value argument(text);
  const auto back = hcl::standard_functions().at("yamldecode")(std::span(&argument, 1));
  return back.ok() && back->is_string() && back->string() == text;
}

std::string yaml_scalar(const json& value) {
  if (value.is_string()) {
    const auto& text = value.get_ref<const std::string&>();
    return is_plain_yaml(text) ? text : json_string(text, false);
  }
  if (value.is_number()) return number_text(value);
  if (value.is_object()) return "{}";
  return value.is_array() ? "[]" : value.dump();
}

void write_yaml(const json& value, size_t level, std::string& out) {
  const bool is_map = value.is_object();
  bool first = true;
  for (const auto& [key, inner] : value.items()) {
    if (!std::exchange(first, false)) out.append(level * 2, ' ');
    out += is_map ? yaml_scalar(key) + ":" : "-";
    if (!inner.is_structured() || inner.empty()) {
      out += " " + yaml_scalar(inner) + "\n";
    } else if (!is_map) {
      out += " ";  // the first line of what is inside follows the dash
      write_yaml(inner, level + 1, out);
    } else {
      const size_t inside = inner.is_array() ? level : level + 1;
      out.append("\n").append(inside * 2, ' ');
      write_yaml(inner, inside, out);
    }
  }
}

Result<Value> to_yaml(Arguments arguments) {
  DROVER_TRY(const json* map, map_at(arguments, 0));
  std::string out;
  if (map->empty()) return value_of("{}");
  write_yaml(*map, 0, out);
  out.pop_back();  // the last line's end
  return value_of(std::move(out));
}

// ---- TOML: a table's own values first, then its tables

std::string toml_key(const std::string& key) {
  const bool is_bare = !key.empty() && std::ranges::all_of(key, [](char c) {
    return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_' || c == '-';
  });
  return is_bare ? key : json_string(key, false);
}

bool is_table_list(const json& value) {
  return value.is_array() && !value.empty() &&
         std::ranges::all_of(value, [](const json& item) { return item.is_object(); });
}

std::string toml_value(const json& value) {
  if (value.is_string()) return json_string(value.get_ref<const std::string&>(), false);
  if (value.is_number_float()) {
    std::string text = value.dump();
    return text;
  }
  if (!value.is_array()) return value.dump();
  std::string out = "[";
  for (const json& item : value) out += (&item == &value.front() ? "" : ", ") + toml_value(item);
  return out + "]";
}

void write_toml(const json& table, const std::string& path, size_t level, std::string& out) {
  const std::string margin(level * 2, ' ');
  for (const auto& [key, value] : table.items()) {
    if (value.is_object() || is_table_list(value) || value.is_null()) continue;
    out += margin + toml_key(key) + " = " + toml_value(value) + "\n";
  }
  const auto inner_margin = path.empty() ? std::string() : margin;
  for (const auto& [key, value] : table.items()) {
    const std::string inner = path.empty() ? toml_key(key) : path + "." + toml_key(key);
    const size_t deeper = path.empty() ? 1 : level + 1;
    if (value.is_object()) {
      out += (out.empty() ? "" : "\n") + inner_margin + "[" + inner + "]\n";
      write_toml(value, inner, deeper, out);
    } else if (is_table_list(value)) {
      for (const json& item : value) {
        out += (out.empty() ? "" : "\n") + inner_margin + "[[" + inner + "]]\n";
        write_toml(item, inner, deeper, out);
      }
    }
  }
}

Result<Value> to_toml(Arguments arguments) {
  DROVER_TRY(const json* map, map_at(arguments, 0));
  std::string out;
  write_toml(*map, "", 0, out);
  if (out.ends_with('\n')) out.pop_back();
  return value_of(std::move(out));
}

}  // namespace

const FunctionTable& document_functions() {
  static const FunctionTable kTable = {{"parseJSON", {1, 1, parse_json}},
                                       {"parseYAML", {1, 1, parse_yaml}},
                                       {"toJSON", {1, 1, to_json}},
                                       {"toJSONPretty", {1, 1, to_json_pretty}},
                                       {"toTOML", {1, 1, to_toml}},
                                       {"toUnescapedJSON", {1, 1, to_unescaped_json}},
                                       {"toUnescapedJSONPretty", {1, 1, to_unescaped_json_pretty}},
                                       {"toYAML", {1, 1, to_yaml}}};
  return kTable;
}

}  // namespace drover::templates
