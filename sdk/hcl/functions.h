// What the files of functions share: reading arguments, and one table of functions for each family.
#pragma once

#include <map>
#include <string>

#include "drover/hcl.h"

namespace drover::hcl {

using Functions = std::map<std::string, Function, std::less<>>;
using Arguments = std::span<const Value>;

// Errors that name the argument, counted from one.
Result<std::string> text_argument(Arguments arguments, size_t i);
Result<Number> number_argument(Arguments arguments, size_t i);
Result<int64_t> integer_argument(Arguments arguments, size_t i);
Result<List> list_argument(Arguments arguments, size_t i);
Result<Object> object_argument(Arguments arguments, size_t i);

// A function that takes between `least` and `most` arguments.
Function with_count(size_t least, size_t most, Function function);
inline constexpr size_t kAnyCount = static_cast<size_t>(-1);

void add_number_functions(Functions& functions);
void add_string_functions(Functions& functions);
void add_collection_functions(Functions& functions);
void add_encoding_functions(Functions& functions);

// format("%s is %d", …): %s %q %v %t %d %b %o %x %X %e %f %g %%, with flags, width, precision and [n] indexes.
Result<Value> format(Arguments arguments);

}  // namespace drover::hcl
