// Configuration by a plugin's own schema (nomad/plugins/hclspec.proto): from what an operator or a job wrote to the
// bytes that plugins in every language decode.
//
//   {"command": "/bin/x", "args": [1]} ──decode by schema──▶ typed value ──to_msgpack──▶ bytes
//
// Blocks arrive as a job's `config` carries them: a repeated block is a list of objects, one block an object or a list
// of one. Every name of the schema is in the result, null where nothing was written. Pure.
#pragma once

#include <initializer_list>
#include <string>

#include "drover/hcl_value.h"
#include "drover/result.h"

namespace hashicorp::nomad::plugins::shared::hclspec {
class Spec;
}

namespace drover::hclspec {

using hashicorp::nomad::plugins::shared::hclspec::Spec;

inline constexpr size_t kMaxDepth = 64;  // of a schema

// One `name = value` of a schema. `type` is a type expression: "string", "list(map(number))".
struct Attribute {
  std::string name;
  std::string type;
  bool is_required = false;
  std::string default_literal{};  // an expression, such as "true" or "\"/run\""; empty: null where nothing is written
  std::string help{};             // for people
};

// The schema of a block that holds attributes only.
Spec object_of(std::initializer_list<Attribute> attributes);

// Checks that the schema can be used at all: every part set, types and literals readable, depth bounded. Errors:
// invalid_argument naming the part.
Status check(const Spec& spec);

// The configuration as the schema wants it: converted as HCL converts, defaults filled in. `config` is an object or
// null. Requires: check(spec) is ok. Errors: invalid_argument, all problems at once, each with its path.
Result<hcl::Value> decode(const Spec& spec, const hcl::Value& config);

// Msgpack as the plugin protocol has it: whole numbers in the shortest integer form, others as float64 where that is
// exact and as decimal text where it is not, objects sorted by key.
std::string to_msgpack(const hcl::Value& value);

}  // namespace drover::hclspec
