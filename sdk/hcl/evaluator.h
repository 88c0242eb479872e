// Evaluates expression trees. One Evaluator serves one body or expression and carries its budget of steps, so that
// loops inside loops end in an error rather than in an hour.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "ast.h"

namespace drover::hcl {

inline constexpr size_t kBytesPerStep = 256;  // of what a step walks or copies
inline constexpr size_t kBytesPerType = 32;   // of what a step finds the types of

// The key that a loop gives a list's element: its index, or in a set the element itself.
inline Value list_key(const Value& list, size_t i) { return list.shape() == Shape::set ? list.list()[i] : Value(i); }

class Evaluator {
 public:
  explicit Evaluator(Diagnostics& diagnostics) : diagnostics_(&diagnostics) {}

  // Nothing after an error, which has been reported.
  std::optional<Value> evaluate(const Expression& expression, const EvalContext& context);
  void error(Range range, std::string message, std::string hint = {});
  void set_file(std::string_view file) { file_ = file; }
  // Counts work; false, and reported once, when the budget is spent.
  bool spend(size_t steps, Range range);

 private:
  class Deferral;
  using Maybe = std::optional<Value>;

  Maybe eval(const Expr& expr, const EvalContext& context);
  // Its problems go where somebody decides whether they matter.
  Maybe attempt(const Expr& expr, const EvalContext& context, Diagnostics& problems);
  Maybe eval_kind(const Expr& expr, const EvalContext& context);
  Maybe eval_template(const TemplateExpr& expr, const EvalContext& context);
  Maybe eval_template_for(const TemplateExpr& expr, const EvalContext& context);
  Maybe eval_traversal(const TraversalExpr& expr, const EvalContext& context);
  Maybe eval_index(const IndexExpr& expr, const EvalContext& context);
  Maybe eval_splat(const SplatExpr& expr, const EvalContext& context);
  Maybe eval_tuple(const TupleExpr& expr, const EvalContext& context);
  Maybe eval_object(const ObjectExpr& expr, const EvalContext& context);
  Maybe eval_call(const CallExpr& expr, const EvalContext& context);
  Maybe eval_deferred(const Function& function, const CallExpr& expr, const EvalContext& context);
  Maybe eval_unary(const UnaryExpr& expr, const EvalContext& context);
  Maybe eval_binary(const BinaryExpr& expr, const EvalContext& context);
  Maybe eval_logical(const BinaryExpr& expr, const EvalContext& context);
  Maybe eval_arithmetic(const BinaryExpr& expr, const Value& left, const Value& right);
  Maybe eval_conditional(const ConditionalExpr& expr, const EvalContext& context);
  Maybe eval_for(const ForExpr& expr, const EvalContext& context);
  Maybe unify(const ConditionalExpr& expr, Value chosen, const Value& other);
  Maybe attribute_of(const Value& value, const std::string& name, Range range);
  Maybe element_of(const Value& value, const Value& key, Range range);
  std::optional<bool> condition(const Value& value, Range range, std::string_view what);
  // "did you mean …", where somebody will read it: walking the names counts as work.
  template <typename Names>
  std::string hint(std::string_view name, Names names, Range range);
  bool append_text(std::string& text, const Value& value, Range range);
  Maybe fitting(Value value, Range range);

  Diagnostics* diagnostics_;
  std::string file_;
  std::shared_ptr<const Source> source_;  // of the expression at hand
  size_t spent_ = 0;
  int attempts_ = 0;  // inside one another, whose problems nobody may ever see
};

}  // namespace drover::hcl
