#include "drover/hcl_expression.h"

#include "evaluator.h"

namespace drover::hcl {

Evaluation::Evaluation(Diagnostics& diagnostics) : evaluator_(std::make_unique<Evaluator>(diagnostics)) {}
Evaluation::~Evaluation() = default;

Value Evaluation::evaluate(const Expression& expression, const EvalContext& context) {
  return evaluator_->evaluate(expression, context).value_or(Value());
}

Value evaluate(const Expression& expression, const EvalContext& context, Diagnostics& diagnostics) {
  return Evaluation(diagnostics).evaluate(expression, context);
}

Expression listed_literal(const Expression& expression) {
  if (!expression.tree() || expression.tree()->kind != ExprKind::object) return expression;
  const auto owner = std::make_shared<const Expression>(expression);
  std::vector<ExprPtr> elements{ExprPtr(owner, expression.tree())};
  return {std::make_shared<TupleExpr>(expression.range(), std::move(elements)), expression.source()};
}

}  // namespace drover::hcl
