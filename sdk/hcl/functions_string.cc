// Functions on text. Positions and lengths count what a reader takes for one character.
#include <algorithm>
#include <set>

#include "functions.h"
#include "unicode.h"

namespace drover::hcl {
namespace {

constexpr size_t kMaxParts = 1'000'000;

Function::Call on_text(std::string (*function)(std::string)) {
  return with_count(1, 1, [function](Arguments arguments) -> Result<Value> {
    DROVER_TRY(std::string text, text_argument(arguments, 0));
    return Value(function(std::move(text)));
  });
}

Function::Call on_two_texts(std::string (*function)(std::string, std::string_view)) {
  return with_count(2, 2, [function](Arguments arguments) -> Result<Value> {
    DROVER_TRY(std::string text, text_argument(arguments, 0));
    DROVER_TRY(std::string other, text_argument(arguments, 1));
    return Value(function(std::move(text), other));
  });
}

template <typename Change>
std::string each_code_point(std::string_view text, Change change) {
  std::string out;
  while (!text.empty()) {
    CodePoint point = decode_utf8(text);
    if (point.bytes == 0) {
      out += text.front();
    } else {
      append_utf8(out, change(point.value));
    }
    text.remove_prefix(std::max<size_t>(point.bytes, 1));
  }
  return out;
}

std::string upper(std::string text) { return each_code_point(text, to_upper); }
std::string lower(std::string text) { return each_code_point(text, to_lower); }

std::string title(std::string text) {
  bool begins_word = true;
  return each_code_point(text, [&](uint32_t c) {
    uint32_t changed = begins_word ? to_upper(c) : c;
    begins_word = !begins_identifier(c) && !(c >= '0' && c <= '9');
    return changed;
  });
}

CodePoint last_code_point(std::string_view text) {
  size_t begin = text.size();
  while (begin > 0 && (static_cast<unsigned char>(text[--begin]) & 0xc0) == 0x80) {
  }
  return decode_utf8(text.substr(begin));
}

template <typename IsCut>
std::string trim_code_points(std::string_view text, IsCut is_cut) {
  for (CodePoint first = decode_utf8(text); first.bytes > 0 && is_cut(first.value); first = decode_utf8(text)) {
    text.remove_prefix(first.bytes);
  }
  for (CodePoint last = last_code_point(text); last.bytes > 0 && is_cut(last.value); last = last_code_point(text)) {
    text.remove_suffix(last.bytes);
  }
  return std::string(text);
}

std::string trim(std::string text, std::string_view cut) {
  std::set<uint32_t> points;
  for (CodePoint point; !cut.empty(); cut.remove_prefix(std::max<size_t>(point.bytes, 1))) {
    point = decode_utf8(cut);
    if (point.bytes > 0) points.insert(point.value);
  }
  return trim_code_points(text, [&](uint32_t c) { return points.contains(c); });
}

bool is_white_space(uint32_t c) {
  return (c >= '\t' && c <= '\r') || c == 0x85 || c == 0x2028 || c == 0x2029 || is_space_separator(c);
}

std::string trim_space(std::string text) { return trim_code_points(text, is_white_space); }

std::string trim_prefix(std::string text, std::string_view prefix) {
  return text.starts_with(prefix) ? text.substr(prefix.size()) : text;
}

std::string trim_suffix(std::string text, std::string_view suffix) {
  return text.ends_with(suffix) ? text.substr(0, text.size() - suffix.size()) : text;
}

std::string chomp(std::string text) {
  text.erase(std::min(text.find_last_not_of("\r\n") + 1, text.size()));
  return text;
}

std::string reverse(std::string text) {
  std::string result;
  std::vector<std::string_view> points = characters(text);
  for (auto point = points.rbegin(); point != points.rend(); ++point) result += *point;
  return result;
}

Result<Value> join(Arguments arguments) {
  DROVER_TRY(std::string separator, text_argument(arguments, 0));
  std::string text;
  bool is_first = true;
  for (size_t i = 1; i < arguments.size(); ++i) {
    DROVER_TRY(List list, list_argument(arguments, i));
    for (const Value& element : list) {
      std::optional<std::string> part = as_string(element);
      if (!part) return invalid_argument("the list holds " + std::string(to_string(element.kind())) + ", not a string");
      if (!is_first) text += separator;
      is_first = false;
      text += *part;
      if (text.size() > kMaxValueWeight) return resource_exhausted("the result is too large");
    }
  }
  return Value(std::move(text));
}

Result<Value> split(Arguments arguments) {
  DROVER_TRY(std::string separator, text_argument(arguments, 0));
  DROVER_TRY(std::string text, text_argument(arguments, 1));
  const Status too_large = resource_exhausted("the result is too large");
  List parts;
  if (separator.empty()) {
    if (text.size() > kMaxParts) return too_large;
    for (std::string_view point : characters(text)) parts.push_back(point);
    return Value(std::move(parts), Shape::collection);
  }
  size_t begin = 0;
  for (size_t end; (end = text.find(separator, begin)) != std::string::npos; begin = end + separator.size()) {
    parts.push_back(text.substr(begin, end - begin));
    if (parts.size() >= kMaxParts) return too_large;
  }
  parts.push_back(text.substr(begin));
  return Value(std::move(parts), Shape::collection);
}

Result<Value> replace(Arguments arguments) {
  DROVER_TRY(std::string text, text_argument(arguments, 0));
  DROVER_TRY(std::string from, text_argument(arguments, 1));
  DROVER_TRY(std::string to, text_argument(arguments, 2));
  std::string result;
  if (from.empty()) {  // stands before every character, and at the end
    size_t room = kMaxValueWeight / (to.size() + 1);
    if (text.size() > room) return resource_exhausted("the result is too large");
    for (size_t at = 0, bytes = 0; at < text.size(); at += bytes) {
      bytes = std::max<size_t>(decode_utf8(std::string_view(text).substr(at)).bytes, 1);
      result.append(to).append(text, at, bytes);
    }
    return Value(result + to);
  }
  size_t begin = 0;
  for (size_t end; (end = text.find(from, begin)) != std::string::npos; begin = end + from.size()) {
    result.append(text, begin, end - begin).append(to);
    if (result.size() > kMaxValueWeight) return resource_exhausted("the result is too large");
  }
  return Value(result.append(text, begin));
}

// A negative offset counts from the end, a negative length takes the rest.
Result<Value> substr(Arguments arguments) {
  DROVER_TRY(std::string text, text_argument(arguments, 0));
  DROVER_TRY(int64_t offset, integer_argument(arguments, 1));
  DROVER_TRY(int64_t length, integer_argument(arguments, 2));
  std::vector<std::string_view> points = characters(text);
  auto size = static_cast<int64_t>(points.size());
  int64_t begin = std::clamp<int64_t>(offset < 0 ? size + std::max(offset, -size) : offset, 0, size);
  int64_t end = length < 0 || length > size - begin ? size : begin + length;
  std::string result;
  for (int64_t i = begin; i < end; ++i) result += points[static_cast<size_t>(i)];
  return Value(std::move(result));
}

Result<Value> indent(Arguments arguments) {
  DROVER_TRY(int64_t spaces, integer_argument(arguments, 0));
  DROVER_TRY(std::string text, text_argument(arguments, 1));
  if (spaces < 0 || spaces > 1000) return invalid_argument("argument 1 must be between 0 and 1000");
  std::string result;
  for (char c : text) {
    result += c;
    if (c == '\n') result.append(static_cast<size_t>(spaces), ' ');
    if (result.size() > kMaxValueWeight) return resource_exhausted("the result is too large");
  }
  return Value(std::move(result));
}

Result<Value> strlen(Arguments arguments) {
  DROVER_TRY(std::string text, text_argument(arguments, 0));
  return Value(characters(text).size());
}

}  // namespace

void add_string_functions(Functions& functions) {
  functions["upper"] = on_text(upper);
  functions["lower"] = on_text(lower);
  functions["title"] = on_text(title);
  functions["trimspace"] = on_text(trim_space);
  functions["chomp"] = on_text(chomp);
  functions["strrev"] = on_text(reverse);
  functions["reverse"] = on_text(reverse);
  functions["trim"] = on_two_texts(trim);
  functions["trimprefix"] = on_two_texts(trim_prefix);
  functions["trimsuffix"] = on_two_texts(trim_suffix);
  functions["join"] = with_count(2, kAnyCount, join);
  functions["split"] = with_count(2, 2, split);
  functions["replace"] = with_count(3, 3, replace);
  functions["substr"] = with_count(3, 3, substr);
  functions["indent"] = with_count(2, 2, indent);
  functions["strlen"] = with_count(1, 1, strlen);
}

}  // namespace drover::hcl
