// Shared by the files of functions: reading arguments, and one table of functions for each family.
#pragma once

#include <string>

#include "drover/hcl.h"

namespace drover::hcl {

using Arguments = std::span<const Value>;

// Errors that name the argument, counted from one.
Result<std::string> text_argument(Arguments arguments, size_t i);
Result<Number> number_argument(Arguments arguments, size_t i);
Result<int64_t> integer_argument(Arguments arguments, size_t i);
Result<List> list_argument(Arguments arguments, size_t i);
Result<Object> object_argument(Arguments arguments, size_t i);

// A function that takes between `least` and `most` arguments.
Function::Call with_count(size_t least, size_t most, Function::Call function);
inline constexpr size_t kAnyCount = static_cast<size_t>(-1);

// The size of a growing result: no less than its printed size, and no less than its size in memory. A function stops at
// the first element that does not fit, long before the whole could be looked at.
class Growth {
 public:
  // With the element and its key.
  bool fits(const Value& element, std::string_view key = {});

 private:
  size_t bytes_ = 0;
};

void add_number_functions(Functions& functions);
void add_string_functions(Functions& functions);
void add_regex_functions(Functions& functions);
void add_collection_functions(Functions& functions);
void add_set_functions(Functions& functions);
void add_format_functions(Functions& functions);
void add_encoding_functions(Functions& functions);
void add_yaml_functions(Functions& functions);
void add_crypto_functions(Functions& functions);
void add_date_functions(Functions& functions);
void add_network_functions(Functions& functions);
void add_conversion_functions(Functions& functions);

// The values without repetitions, in the order of a set: strings and numbers rise, everything else stands as it came.
List as_set(List values);

}  // namespace drover::hcl
