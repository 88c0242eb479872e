// Values of the HCL language: what an expression evaluates to, and what job files, agent and plugin configuration hold.
//
// A value is immutable and cheap to copy: lists and objects are shared. Objects iterate sorted by key. Any thread may
// read a value; assignment to one variable needs the caller's own ordering, as for any other C++ value.
//
// Containers know their depth and weight, so whoever builds values from foreign input can refuse what is too deep to
// walk or too large to print before doing either.
#pragma once

#include <compare>
#include <concepts>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "drover/result.h"

namespace drover::hcl {

struct BigNumber;  // what does not fit int64_t: sdk/hcl/big_number.h

// A number of the language: a binary floating-point number with a precision of its own, as HCL's values have it.
// Whole numbers of the C++ side carry 64 bits, doubles 53, what is parsed from text 512; whole numbers that need more
// bits to be exact carry more. A result carries the larger precision of its operands and is rounded to the nearest,
// ties to even. Numbers lie between 10^-1233 and 10^1233; zero has no sign; never NaN or infinite.
// A number that fits int64_t takes no allocation.
class Number {
 public:
  Number() = default;  // zero
  static Number integer(int64_t value);
  // Returns nothing for NaN and infinities.
  static std::optional<Number> real(double value);
  // A decimal literal with optional sign, fraction and exponent; nothing when the text is anything else or out of
  // range.
  static std::optional<Number> parse(std::string_view text);

  std::optional<int64_t> as_integer() const;  // nothing when it is not a whole number or does not fit
  double as_double() const;                   // the nearest; infinite beyond the largest double
  // Decimal without exponent: the shortest text that stands for this number at its precision.
  std::string to_string() const;
  // No less than the length of that text, without printing it.
  size_t text_size() const;

  // Equal when they print alike, so the double 0.1 equals a parsed 0.1; the order is that of the exact values.
  friend bool operator==(const Number& a, const Number& b);
  friend std::strong_ordering operator<=>(const Number& a, const Number& b);

 private:
  friend struct NumberParts;  // sdk/hcl
  int64_t small_ = 0;
  uint32_t precision_ = 64;
  std::shared_ptr<const BigNumber> big_;  // null when small_ holds the value
};

// Nothing when the result is not a number: division by zero, or out of range.
std::optional<Number> add(const Number& a, const Number& b);
std::optional<Number> subtract(const Number& a, const Number& b);
std::optional<Number> multiply(const Number& a, const Number& b);
std::optional<Number> divide(const Number& a, const Number& b);
std::optional<Number> modulo(const Number& a, const Number& b);  // the sign of the dividend, as in C
Number negate(const Number& number);

class Value;
using List = std::vector<Value>;
using Object = std::map<std::string, Value, std::less<>>;

enum class Kind { null, unknown, boolean, number, string, list, object };
std::string_view to_string(Kind kind);

// Tells apart types of HCL that share a kind: [ ] and { } write tuples and objects, whose elements have types of
// their own; the elements of a list, a map or a set have one type. Two values that differ in this alone are equal.
enum class Shape { structural, collection, set };

class Value {
 public:
  Value() = default;  // null
  static Value unknown();

  template <std::same_as<bool> B>
  Value(B value) : kind_(Kind::boolean), data_(value) {}  // NOLINT: implicit by design
  template <std::integral I>
  requires(!std::same_as<I, bool>) Value(I value) : Value(Number::integer(static_cast<int64_t>(value))) {}  // NOLINT
  Value(Number value) : kind_(Kind::number), data_(value) {}                                                // NOLINT
  // Text is held in Unicode's normal form C, so that equal text is equal bytes.
  Value(std::string value);                                     // NOLINT
  Value(std::string_view value) : Value(std::string(value)) {}  // NOLINT
  Value(const char* value) : Value(std::string(value)) {}       // NOLINT
  Value(List value, Shape shape = Shape::structural);           // NOLINT
  Value(Object value, Shape shape = Shape::structural);         // NOLINT

  Kind kind() const { return kind_; }
  bool is_null() const { return kind_ == Kind::null; }
  bool is_unknown() const { return kind_ == Kind::unknown; }
  bool is_boolean() const { return kind_ == Kind::boolean; }
  bool is_number() const { return kind_ == Kind::number; }
  bool is_string() const { return kind_ == Kind::string; }
  bool is_list() const { return kind_ == Kind::list; }
  bool is_object() const { return kind_ == Kind::object; }

  // Requires: the matching kind.
  bool boolean() const;
  const Number& number() const;
  const std::string& string() const;
  const List& list() const;
  const Object& object() const;

  // The shape of a list or an object; structural for everything else.
  Shape shape() const;

  // The member of an object, or null when this is not an object or has no such member.
  const Value* find(std::string_view key) const;

  // Zero for scalars, one more than the deepest element for containers.
  size_t depth() const;
  // The bytes that printing this takes, about; a fraction's eightfold, for the time. Shared parts count each time.
  size_t weight() const;
  // True when this or anything inside is unknown.
  bool has_unknown() const;

  friend bool operator==(const Value& a, const Value& b);

 private:
  struct Container;
  Kind kind_ = Kind::null;
  std::variant<std::monostate, bool, Number, std::string, std::shared_ptr<const Container>> data_;
};

// HCL's conversions between scalars: 5 ↔ "5", true ↔ "true". Nothing when the value has no such form.
std::optional<std::string> as_string(const Value& value);
std::optional<Number> as_number(const Value& value);
std::optional<int64_t> as_integer(const Value& value);
std::optional<bool> as_boolean(const Value& value);

// JSON text without spaces, objects sorted by key. An unknown is printed as null. `html_safe` writes <, > and & as
// \u escapes, which is what HCL's jsonencode does.
enum class JsonEscapes { minimal, html_safe };
std::string to_json(const Value& value, JsonEscapes escapes = JsonEscapes::minimal);
// Errors: invalid_argument with line and column. A repeated key keeps its last value.
Result<Value> from_json(std::string_view text);

}  // namespace drover::hcl
