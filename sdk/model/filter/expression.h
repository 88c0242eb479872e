// A filter expression as it was read.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <vector>

namespace google::protobuf {
class Descriptor;
class FieldDescriptor;
}  // namespace google::protobuf
namespace re2 {
class RE2;
}

namespace drover::filter {

// One step from a value to a part of it.
struct Step {
  std::string name;
  // The field of that name, by the type of message; null: it has none. Filled in as rows are looked at.
  mutable std::map<const google::protobuf::Descriptor*, const google::protobuf::FieldDescriptor*> fields = {};
};

enum class Operator { equal, in, empty, matches };

struct Expression {
  enum class Kind { all, any, negation, match };
  Kind kind = Kind::match;
  std::vector<std::unique_ptr<const Expression>> parts = {};  // of all but match

  // --- of a match
  std::vector<Step> selector = {};
  Operator op = Operator::equal;
  bool negated = false;
  std::string value = {};
  mutable std::shared_ptr<const re2::RE2> pattern = {};  // of matches, compiled when it is first asked
};

}  // namespace drover::filter
