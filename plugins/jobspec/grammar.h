// The blocks and attributes of a job file, and what each is called in the API's JSON. One table; the decoder walks it.
// Constant. [any]
#pragma once

#include <span>
#include <string_view>
#include <vector>

namespace drover::jobspec {

enum class Form {
  text,
  integer,
  boolean,
  duration,  // "30s" or nanoseconds → nanoseconds
  text_list,
  integer_list,
  text_map,       // written as an attribute or as a block
  text_list_map,  // likewise
  any_object,     // likewise; whatever stands inside
};

struct AttributeRule {
  std::string_view name;
  std::string_view json;
  Form form;
};

enum class Shape {
  object,     // at most one; JSON object
  list,       // any number; JSON list
  by_label,   // any number; JSON object keyed by the label
  map,        // at most one; its attributes are a JSON object of texts
  list_map,   // at most one; its attributes are a JSON object of lists of texts
  free_form,  // at most one; JSON object of whatever stands there
};

struct BlockRule {
  std::string_view name;
  std::string_view json;
  Shape shape;
  std::string_view label;  // JSON field that takes the block's label; empty: the block has none
  std::vector<AttributeRule> attributes;
  std::vector<BlockRule> blocks;
  bool label_is_optional = false;
};

// The rule of the whole `job` block.
const BlockRule& job_rule();

}  // namespace drover::jobspec
