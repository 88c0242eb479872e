// The syntax tree of expressions: what the parser builds and the evaluator walks.
//
// Nodes are immutable and shared, so an expression can outlive the file it came from. `depth` bounds the recursion of
// everything that walks the tree, destruction included.
#pragma once

#include <algorithm>
#include <memory>
#include <string>
#include <vector>

#include "drover/hcl.h"

namespace drover::hcl {

enum class ExprKind {
  literal,
  template_text,  // parts converted to strings and joined
  template_wrap,  // "${x}" alone: the value of x, whatever its type
  template_for,   // %{ for }: a for expression whose elements are joined
  traversal,      // root.name["key"]
  attribute,      // expression.name
  index,          // expression[key]
  splat,          // expression[*].name or expression.*.name
  splat_item,     // the element inside a splat
  tuple,
  object,
  call,
  unary,
  binary,
  conditional,
  for_loop,
};

struct Expr {
  Expr(ExprKind k, Range r) : kind(k), range(r) {}
  virtual ~Expr() = default;
  Expr(const Expr&) = delete;
  Expr& operator=(const Expr&) = delete;

  ExprKind kind;
  Range range;
  size_t depth = 1;
};

using ExprPtr = std::shared_ptr<const Expr>;

struct LiteralExpr : Expr {
  LiteralExpr(Range r, Value v) : Expr(ExprKind::literal, r), value(std::move(v)) {}
  Value value;
};

struct TemplateExpr : Expr {
  TemplateExpr(ExprKind k, Range r, std::vector<ExprPtr> p) : Expr(k, r), parts(std::move(p)) {
    for (const ExprPtr& part : parts) depth = std::max(depth, part->depth + 1);
  }
  std::vector<ExprPtr> parts;  // exactly one for template_wrap and template_for
};

struct TraversalStep {
  Value key;  // a string for .name and ["name"], a number for [0] and .0
  bool is_attribute = false;
  Range range;
};

struct TraversalExpr : Expr {
  TraversalExpr(Range r, std::string root_name) : Expr(ExprKind::traversal, r), root(std::move(root_name)) {}
  std::string root;
  std::vector<TraversalStep> steps;
  std::shared_ptr<const Source> source;

  // As written, for references that are kept for later.
  std::string_view text() const {
    return std::string_view(source->text).substr(range.start.byte, range.end.byte - range.start.byte);
  }
};

struct AttributeExpr : Expr {
  AttributeExpr(Range r, ExprPtr o, std::string n)
      : Expr(ExprKind::attribute, r), object(std::move(o)), name(std::move(n)) {
    depth = object->depth + 1;
  }
  ExprPtr object;
  std::string name;
};

struct IndexExpr : Expr {
  IndexExpr(Range r, ExprPtr c, ExprPtr k) : Expr(ExprKind::index, r), collection(std::move(c)), key(std::move(k)) {
    depth = std::max(collection->depth, key->depth) + 1;
  }
  ExprPtr collection;
  ExprPtr key;
};

struct SplatExpr : Expr {
  SplatExpr(Range r, ExprPtr c, ExprPtr e) : Expr(ExprKind::splat, r), collection(std::move(c)), each(std::move(e)) {
    depth = std::max(collection->depth, each->depth) + 1;
  }
  ExprPtr collection;
  ExprPtr each;  // what to take from the element, which is the splat_item inside it
};

struct SplatItemExpr : Expr {
  explicit SplatItemExpr(Range r) : Expr(ExprKind::splat_item, r) {}
};

struct TupleExpr : Expr {
  TupleExpr(Range r, std::vector<ExprPtr> e) : Expr(ExprKind::tuple, r), elements(std::move(e)) {
    for (const ExprPtr& element : elements) depth = std::max(depth, element->depth + 1);
  }
  std::vector<ExprPtr> elements;
};

struct ObjectExpr : Expr {
  struct Item {
    ExprPtr key;
    ExprPtr value;
  };
  ObjectExpr(Range r, std::vector<Item> i) : Expr(ExprKind::object, r), items(std::move(i)) {
    for (const Item& item : items) depth = std::max({depth, item.key->depth + 1, item.value->depth + 1});
  }
  std::vector<Item> items;
};

struct CallExpr : Expr {
  CallExpr(Range r, std::string n, Range nr, std::vector<ExprPtr> a, bool e)
      : Expr(ExprKind::call, r), name(std::move(n)), name_range(nr), arguments(std::move(a)), expand_last(e) {
    for (const ExprPtr& argument : arguments) depth = std::max(depth, argument->depth + 1);
  }
  std::string name;
  Range name_range;
  std::vector<ExprPtr> arguments;
  bool expand_last;  // f(list...)
};

enum class Operator {
  negate,
  logical_not,
  add,
  subtract,
  multiply,
  divide,
  modulo,
  equal,
  not_equal,
  less,
  less_equal,
  greater,
  greater_equal,
  logical_and,
  logical_or,
};

struct UnaryExpr : Expr {
  UnaryExpr(Range r, Operator o, ExprPtr e) : Expr(ExprKind::unary, r), op(o), operand(std::move(e)) {
    depth = operand->depth + 1;
  }
  Operator op;
  ExprPtr operand;
};

struct BinaryExpr : Expr {
  BinaryExpr(Range r, Operator o, ExprPtr a, ExprPtr b)
      : Expr(ExprKind::binary, r), op(o), left(std::move(a)), right(std::move(b)) {
    depth = std::max(left->depth, right->depth) + 1;
  }
  Operator op;
  ExprPtr left;
  ExprPtr right;
};

struct ConditionalExpr : Expr {
  ConditionalExpr(Range r, ExprPtr c, ExprPtr t, ExprPtr f)
      : Expr(ExprKind::conditional, r), condition(std::move(c)), if_true(std::move(t)), if_false(std::move(f)) {
    depth = std::max({condition->depth, if_true->depth, if_false->depth}) + 1;
  }
  ExprPtr condition;
  ExprPtr if_true;
  ExprPtr if_false;
};

struct ForExpr : Expr {
  explicit ForExpr(Range r) : Expr(ExprKind::for_loop, r) {}
  std::string key_name;  // empty when the loop names only the value
  std::string value_name;
  ExprPtr collection;
  ExprPtr key;  // set: builds an object; null: builds a tuple
  ExprPtr value;
  ExprPtr condition;  // or null
  bool grouping = false;
};

}  // namespace drover::hcl
