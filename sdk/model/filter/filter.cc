#include "drover/model/filter.h"

#include <google/protobuf/message.h>
#include <re2/re2.h>

#include <algorithm>
#include <charconv>
#include <optional>

#include "expression.h"
#include "parser.h"
#include "value.h"

namespace drover {
namespace filter {
namespace {

using Kind = Value::Kind;

constexpr int64_t kPatternMemory = 1 << 20;  // bytes of a compiled pattern

std::string selector_text(const Expression& match) {
  std::string text;
  for (const Step& step : match.selector) text += (text.empty() ? "" : ".") + step.name;
  return text;
}

Status cannot_read(const char* function, const std::string& text, const char* why = "invalid syntax") {
  return invalid_argument("error getting match value in expression: strconv." + std::string(function) + ": parsing \"" +
                          text + "\": " + why);
}

Result<bool> read_bool(const std::string& text) {
  for (const char* yes : {"1", "t", "T", "TRUE", "true", "True"}) {
    if (text == yes) return true;
  }
  for (const char* no : {"0", "f", "F", "FALSE", "false", "False"}) {
    if (text == no) return false;
  }
  return cannot_read("ParseBool", text);
}

// A whole number in any of the bases that its prefix names, with underscores between digits.
template <typename Number>
Result<Number> read_number(const std::string& text, const char* function) {
  std::string_view rest = text;
  bool negative = false;
  if constexpr (std::is_signed_v<Number>) {
    if (rest.starts_with('-') || rest.starts_with('+')) {
      negative = rest[0] == '-';
      rest.remove_prefix(1);
    }
  }
  int base = 10;
  bool prefixed = false;
  const auto take_prefix = [&](std::string_view small, std::string_view large, int of) {
    if (prefixed || (!rest.starts_with(small) && !rest.starts_with(large))) return;
    rest.remove_prefix(2);
    base = of;
    prefixed = true;
  };
  take_prefix("0x", "0X", 16);
  take_prefix("0b", "0B", 2);
  take_prefix("0o", "0O", 8);
  if (!prefixed && rest.size() > 1 && rest[0] == '0') {
    rest.remove_prefix(1);
    base = 8;
    prefixed = true;
  }
  std::string digits;
  char before = prefixed ? '0' : '_';
  for (const char c : rest) {
    if (c == '_' && before == '_') return cannot_read(function, text);
    if (c != '_') digits += c;
    before = c;
  }
  uint64_t magnitude = 0;
  const auto read = std::from_chars(digits.data(), digits.data() + digits.size(), magnitude, base);
  if (digits.empty() || before == '_' || read.ptr != digits.data() + digits.size()) return cannot_read(function, text);
  const uint64_t limit = std::is_signed_v<Number> ? (uint64_t{1} << 63) - (negative ? 0 : 1) : UINT64_MAX;
  if (read.ec != std::errc() || magnitude > limit) return cannot_read(function, text, "value out of range");
  return static_cast<Number>(negative ? uint64_t{0} - magnitude : magnitude);
}

Result<double> read_real(const std::string& text) {
  double number = 0;
  const auto read = std::from_chars(text.data(), text.data() + text.size(), number);
  if (text.empty() || read.ec != std::errc() || read.ptr != text.data() + text.size()) {
    return cannot_read("ParseFloat", text);
  }
  return number;
}

Result<bool> equals(const Value& value, const std::string& wanted) {
  switch (value.kind) {
    case Kind::missing:
      return false;
    case Kind::text:
      return value.text == wanted;
    case Kind::boolean: {
      DROVER_TRY(const bool read, read_bool(wanted));
      return value.boolean == read;
    }
    case Kind::integer: {
      DROVER_TRY(const int64_t read, read_number<int64_t>(wanted, "ParseInt"));
      return value.integer == read;
    }
    case Kind::natural: {
      DROVER_TRY(const uint64_t read, read_number<uint64_t>(wanted, "ParseUint"));
      return value.natural == read;
    }
    case Kind::real: {
      DROVER_TRY(const double read, read_real(wanted));
      return value.real == read;
    }
    default:
      return invalid_argument("unable to find suitable primitive comparison function for matching");
  }
}

Result<bool> contains(const Expression& match, const Value& value) {
  switch (value.kind) {
    case Kind::missing:
      return false;
    case Kind::text:
      return value.text.find(match.value) != std::string::npos;
    case Kind::map:
      return std::ranges::find(value.keys, match.value) != value.keys.end();
    case Kind::list: {
      if (value.of_objects) {
        return invalid_argument("unable to find suitable primitive comparison function for \"in\" comparison");
      }
      for (const Value& item : value.items) {
        DROVER_TRY(const bool found, equals(item, match.value));
        if (found) return true;
      }
      return false;
    }
    default:
      return invalid_argument("Cannot perform in/contains operations on type " + value.name() + " for selector: \"" +
                              selector_text(match) + "\"");
  }
}

Result<bool> is_empty(const Expression& match, const Value& value) {
  switch (value.kind) {
    case Kind::missing:
      return true;
    case Kind::text:
      return value.text.empty();
    case Kind::bytes:
    case Kind::list:
    case Kind::map:
      return value.size == 0;
    default:
      return invalid_argument("cannot perform is-empty operations on type " + value.name() + " for selector: \"" +
                              selector_text(match) + "\"");
  }
}

Result<bool> fits_pattern(const Expression& match, const Value& value) {
  if (!match.pattern) {
    re2::RE2::Options options;
    options.set_log_errors(false);
    options.set_max_mem(kPatternMemory);
    match.pattern = std::make_shared<const re2::RE2>(match.value, options);
  }
  if (!match.pattern->ok()) {
    return invalid_argument("Failed to compile regular expression \"" + match.value +
                            "\": error parsing regexp: " + match.pattern->error());
  }
  if (value.kind == Kind::missing) return false;
  if (value.kind != Kind::text && value.kind != Kind::bytes) {
    return invalid_argument("Value of type " + value.name() + " is not convertible to []byte");
  }
  return re2::RE2::PartialMatch(value.text, *match.pattern);
}

Result<bool> evaluate(const Expression& expression, const google::protobuf::Message& row);

Result<bool> evaluate_match(const Expression& match, const google::protobuf::Message& row) {
  DROVER_TRY(const Value value, find(row, match.selector));
  Result<bool> found = false;
  switch (match.op) {
    case Operator::equal:
      found = equals(value, match.value);
      break;
    case Operator::in:
      found = contains(match, value);
      break;
    case Operator::empty:
      found = is_empty(match, value);
      break;
    case Operator::matches:
      found = fits_pattern(match, value);
      break;
  }
  if (!found) return found;
  return *found != match.negated;
}

Result<bool> evaluate(const Expression& expression, const google::protobuf::Message& row) {
  switch (expression.kind) {
    case Expression::Kind::match:
      return evaluate_match(expression, row);
    case Expression::Kind::negation: {
      DROVER_TRY(const bool inner, evaluate(*expression.parts[0], row));
      return !inner;
    }
    default: {
      const bool ends = expression.kind == Expression::Kind::any;  // the answer that ends it early
      for (const auto& part : expression.parts) {
        DROVER_TRY(const bool answer, evaluate(*part, row));
        if (answer == ends) return ends;
      }
      return !ends;
    }
  }
}

bool mentions(const Expression& expression, std::string_view field) {
  if (!expression.selector.empty() && expression.selector[0].name == field) return true;
  return std::ranges::any_of(expression.parts, [&](const auto& part) { return mentions(*part, field); });
}

}  // namespace
}  // namespace filter

Result<Filter> Filter::parse(std::string_view expression) {
  DROVER_TRY(auto root, filter::parse(expression));
  return Filter(std::shared_ptr<const filter::Expression>(std::move(root)));
}

Result<bool> Filter::matches(const google::protobuf::Message& row) const { return filter::evaluate(*root_, row); }

bool Filter::mentions(std::string_view field) const { return filter::mentions(*root_, field); }

}  // namespace drover
