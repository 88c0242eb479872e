// Types of the HCL language as files write them (`list(string)`, `object({name = string})`), and the conversion of
// values to them. A value's type follows from its kind, its shape and its elements: a list, a set and a tuple are all
// lists, a set being one without repetitions and in order. Pure, any thread.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "drover/hcl.h"

namespace drover::hcl {

struct Type {
  enum class Kind { any, boolean, number, string, list, set, map, object, tuple };
  Kind kind = Kind::any;
  std::vector<Type> elements;                           // one for list, set and map; each in order for a tuple
  std::map<std::string, Type, std::less<>> attributes;  // of an object

  friend bool operator==(const Type&, const Type&) = default;
};

// "list(string)", as a file would write it.
std::string to_string(const Type& type);

// Reads a type from the syntax of an expression, which is not evaluated: `string`, `map(any)`, … Nothing after an
// error, which is then in `diagnostics`.
std::optional<Type> parse_type(const Expression& expression, Diagnostics& diagnostics);

// The type of the value; `any` for null and unknown, and for the elements of an empty list. Nothing when the value has
// more than kMaxTypeParts parts.
std::optional<Type> type_of(const Value& value);
inline constexpr size_t kMaxTypeParts = 100'000;

// The one type that values of these types can be converted to, as the results of a condition are: the more general of
// two; attribute by attribute where all objects have the same ones, else a map; element by element where all tuples are
// equally long, else a list. Nothing when there is none.
std::optional<Type> unify(std::vector<Type> types);

// The value as the type wants it: scalars into each other where that loses nothing, tuples into lists, objects into
// maps. An object's surplus attributes are dropped. Null is a value of every type. Under `any`, the elements of a
// collection take the one type that unify() finds for them.
// Errors: invalid_argument that names the element.
Result<Value> convert(const Value& value, const Type& type);

}  // namespace drover::hcl
