// A template after parsing.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "drover/text_template.h"

namespace drover::text_template {

struct Place {
  size_t line = 1, column = 1;  // columns count characters
};

struct Pipeline;

// The part of a command between two spaces.
struct Operand {
  enum class Kind { dot, nil, literal, variable, function, pipeline };
  Kind kind = Kind::dot;
  Place place;
  std::string name;                       // of a variable, with its $, or a function
  Value literal;                  // bool, integer, float or string
  std::shared_ptr<const Pipeline> inner;  // in parentheses
  std::vector<std::string> fields;        // taken one after the other from it
};

struct Command {
  std::vector<Operand> words;
};

struct Pipeline {
  Place place;
  std::vector<std::string> variables;  // that take its value; for range, its key and element
  bool declares = false;               // := and not =
  std::vector<Command> commands;
};

struct Node {
  enum class Kind { text, action, conditional, range, with, invoke, break_loop, next_round };
  Kind kind = Kind::text;
  Place place;
  std::string text;                          // itself, or the name of the template that is invoked
  std::shared_ptr<const Pipeline> pipeline;  // null for an invocation without one
  std::vector<Node> body, otherwise;
};

struct Trees {
  std::vector<Node> main;
  std::map<std::string, std::vector<Node>> named;
};

}  // namespace drover::text_template
