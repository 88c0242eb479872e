// JSON text as a tree with places. The language needs places for its error messages, which is why the general JSON
// library does not do.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "drover/hcl.h"

namespace drover::hcl {

struct JsonMember;

struct JsonNode {
  enum class Kind { scalar, array, object } kind = Kind::scalar;
  Value scalar;
  std::vector<JsonNode> elements;
  std::vector<JsonMember> members;  // in order of appearance
  Range range;
};

struct JsonMember {
  std::string name;
  Range name_range;
  JsonNode value;
};

// One document, RFC 8259. Nothing after an error, which has been reported.
std::optional<JsonNode> read_json(const Source& source, Diagnostics& diagnostics);

}  // namespace drover::hcl
