#include <algorithm>
#include <nlohmann/json.hpp>

#include "drover/base64.h"
#include "drover/hcl.h"
#include "table.h"

namespace drover::templates {
namespace {

constexpr std::string_view kBlanks = " \t\n\v\f\r";

// ---- encodings

std::string swapped(std::string text, std::string_view from, std::string_view to) {
  for (char& c : text) {
    if (const size_t at = from.find(c); at != std::string_view::npos) c = to[at];
  }
  return text;
}

Result<Value> base64_encode(Arguments arguments) {
  DROVER_TRY(const std::string text, text_at(arguments, 0));
  return value_of(drover::base64_encode(text));
}

Result<Value> decoded(const std::string& text) {
  DROVER_TRY(std::string bytes, drover::base64_decode(text));
  return value_of(std::move(bytes));
}

Result<Value> base64_decode(Arguments arguments) {
  DROVER_TRY(const std::string text, text_at(arguments, 0));
  return decoded(text);
}

Result<Value> base64_url_encode(Arguments arguments) {
  DROVER_TRY(const std::string text, text_at(arguments, 0));
  return value_of(swapped(drover::base64_encode(text), "+/", "-_"));
}

Result<Value> base64_url_decode(Arguments arguments) {
  DROVER_TRY(const std::string text, text_at(arguments, 0));
  return decoded(swapped(text, "-_", "+/"));
}

// A function of the configuration language that makes text of text.
Result<Value> as_in_hcl(const char* function, Arguments arguments) {
  DROVER_TRY(const std::string text, text_at(arguments, 0));
  const hcl::Value argument(text);
  DROVER_TRY(const hcl::Value made, hcl::standard_functions().at(function)(std::span(&argument, 1)));
  return value_of(made.string());
}

Result<Value> sha256_hex(Arguments arguments) { return as_in_hcl("sha256", arguments); }
Result<Value> md5_sum(Arguments arguments) { return as_in_hcl("md5", arguments); }
Result<Value> to_upper(Arguments arguments) { return as_in_hcl("upper", arguments); }
Result<Value> to_lower(Arguments arguments) { return as_in_hcl("lower", arguments); }
Result<Value> to_title(Arguments arguments) { return as_in_hcl("title", arguments); }

// ---- cutting and joining

std::string_view without(std::string_view text, std::string_view set) {
  text.remove_prefix(std::min(text.find_first_not_of(set), text.size()));
  return text.substr(0, text.find_last_not_of(set) + 1);
}

Result<Value> trim(Arguments arguments) {
  DROVER_TRY(const std::string set, text_at(arguments, 0));
  DROVER_TRY(const std::string text, text_at(arguments, 1));
  return value_of(std::string(without(text, set)));
}

Result<Value> trim_space(Arguments arguments) {
  DROVER_TRY(const std::string text, text_at(arguments, 0));
  return value_of(std::string(without(text, kBlanks)));
}

Result<Value> trim_prefix(Arguments arguments) {
  DROVER_TRY(const std::string prefix, text_at(arguments, 0));
  DROVER_TRY(const std::string text, text_at(arguments, 1));
  return value_of(text.starts_with(prefix) ? text.substr(prefix.size()) : text);
}

Result<Value> trim_suffix(Arguments arguments) {
  DROVER_TRY(const std::string suffix, text_at(arguments, 0));
  DROVER_TRY(const std::string text, text_at(arguments, 1));
  return value_of(text.ends_with(suffix) ? text.substr(0, text.size() - suffix.size()) : text);
}

Result<Value> join(Arguments arguments) {
  DROVER_TRY(const std::string between, text_at(arguments, 0));
  DROVER_TRY(const json* list, list_at(arguments, 1));
  std::string out;
  for (const json& item : *list) {
    if (&item != &list->front()) out += between;
    out += item.is_string() ? item.get<std::string>() : text_template::printed(item);
  }
  return value_of(std::move(out));
}

Result<Value> split(Arguments arguments) {
  DROVER_TRY(const std::string between, text_at(arguments, 0));
  DROVER_TRY(const std::string whole, text_at(arguments, 1));
  std::string_view text = without(whole, kBlanks);
  json parts = json::array();
  if (text.empty()) return value_of(std::move(parts));
  while (true) {
    const size_t step = text_template::first_character(text.empty() ? " " : text).size;
    const size_t end = between.empty() ? (step < text.size() ? step : std::string_view::npos) : text.find(between);
    parts.push_back(std::string(text.substr(0, end)));
    if (end == std::string_view::npos) return value_of(std::move(parts));
    text.remove_prefix(end + between.size());
  }
}

Result<Value> indent(Arguments arguments) {
  DROVER_TRY(const int64_t blanks, whole_at(arguments, 0));
  DROVER_TRY(const std::string text, text_at(arguments, 1));
  if (blanks < 0 || blanks > 1000) return invalid_argument("indent value must be a positive integer up to 1000");
  std::string out;
  bool begins = true;
  for (const char c : text) {
    if (begins && c != '\n') out.append(static_cast<size_t>(blanks), ' ');
    out += c;
    begins = c == '\n';
  }
  return value_of(std::move(out));
}

Result<Value> replace_all(Arguments arguments) {
  DROVER_TRY(const std::string from, text_at(arguments, 0));
  DROVER_TRY(const std::string to, text_at(arguments, 1));
  DROVER_TRY(const std::string text, text_at(arguments, 2));
  if (from.empty()) return invalid_argument("the text to replace is empty");
  std::string out;
  size_t at = 0;
  for (size_t found = text.find(from); found != std::string::npos; found = text.find(from, at)) {
    out.append(text, at, found - at).append(to);
    at = found + from.size();
  }
  return value_of(out.append(text, at));
}

}  // namespace

const FunctionTable& text_functions() {
  static const FunctionTable kTable = {{"base64Decode", {1, 1, base64_decode}},
                                       {"base64Encode", {1, 1, base64_encode}},
                                       {"base64URLDecode", {1, 1, base64_url_decode}},
                                       {"base64URLEncode", {1, 1, base64_url_encode}},
                                       {"indent", {2, 2, indent}},
                                       {"join", {2, 2, join}},
                                       {"md5sum", {1, 1, md5_sum}},
                                       {"replaceAll", {3, 3, replace_all}},
                                       {"sha256Hex", {1, 1, sha256_hex}},
                                       {"split", {2, 2, split}},
                                       {"toLower", {1, 1, to_lower}},
                                       {"toTitle", {1, 1, to_title}},
                                       {"toUpper", {1, 1, to_upper}},
                                       {"trim", {2, 2, trim}},
                                       {"trimPrefix", {2, 2, trim_prefix}},
                                       {"trimSpace", {1, 1, trim_space}},
                                       {"trimSuffix", {2, 2, trim_suffix}}};
  return kTable;
}

}  // namespace drover::templates
