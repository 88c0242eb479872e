// Filter expressions of lists: `Status == "running" and "dc1" in Datacenters`.
//
// The language and its answers are those of Nomad's API: fields have the names that they have in JSON, a value is read
// as what its field is, and texts compare with ==, !=, contains, matches, in, and is empty. A secret has no name here:
// it cannot be guessed letter by letter. docs/operator/filters.md has the grammar.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "drover/result.h"

namespace google::protobuf {
class Message;
}

namespace drover {

namespace filter {
struct Expression;
}

class Filter {
 public:
  // Longer expressions are refused, and so is deeper nesting.
  static constexpr size_t kMaxLength = 8192;
  static constexpr int kMaxDepth = 100;

  // Errors: invalid_argument with the place: "1:8 (7): no match found".
  static Result<Filter> parse(std::string_view expression);

  // True when the row is wanted. Errors: invalid_argument, when the row has no such field, or one that cannot be compared
  // so. One filter serves one thread.
  Result<bool> matches(const google::protobuf::Message& row) const;

  // True when a selector begins with that field.
  bool mentions(std::string_view field) const;

 private:
  explicit Filter(std::shared_ptr<const filter::Expression> root) : root_(std::move(root)) {}
  std::shared_ptr<const filter::Expression> root_;
};

}  // namespace drover
