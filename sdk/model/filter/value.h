// A part of a row that a selector leads to. Pure.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "drover/result.h"
#include "expression.h"

namespace google::protobuf {
class Message;
}

namespace drover::filter {

struct Value {
  enum class Kind { missing, nothing, text, boolean, integer, natural, real, list, map, object, bytes };
  Kind kind = Kind::missing;  // missing: a map has no such key. nothing: a part that the row does not have
  std::string text = {};
  bool boolean = false;
  int64_t integer = 0;
  uint64_t natural = 0;
  double real = 0;
  size_t size = 0;                     // of lists and maps
  std::vector<Value> items = {};       // of lists of scalars
  bool of_objects = false;             // a list whose items have parts
  std::vector<std::string> keys = {};  // of maps

  // The kind, as Go names it: "int", "[]string".
  std::string name() const;
};

// Errors: invalid_argument: "error finding value in datum: /Nope at part 0: …".
Result<Value> find(const google::protobuf::Message& row, const std::vector<Step>& selector);

}  // namespace drover::filter
