// Evaluation of what may fail without an error: the arguments of try and can, the result that a condition does not
// take.
#include <utility>

#include "evaluator.h"

namespace drover::hcl {

Evaluator::Maybe Evaluator::attempt(const Expr& expr, const EvalContext& context, Diagnostics& problems) {
  Diagnostics* outer = std::exchange(diagnostics_, &problems);
  ++attempts_;
  Maybe value = eval(expr, context);
  --attempts_;
  diagnostics_ = outer;
  return value;
}

// A function of expressions sees its arguments through this.
class Evaluator::Deferral final : public DeferredCall {
 public:
  Deferral(Evaluator& evaluator, const CallExpr& expr, const EvalContext& context)
      : evaluator_(evaluator), expr_(expr), context_(context) {}

  size_t size() const override { return expr_.arguments.size(); }
  Expression argument(size_t i) const override { return {expr_.arguments[i], evaluator_.source_}; }
  Maybe attempt(size_t i, Diagnostics& problems) override {
    return evaluator_.attempt(*expr_.arguments[i], context_, problems);
  }
  Maybe evaluate(size_t i) override { return evaluator_.eval(*expr_.arguments[i], context_); }
  void report(const Diagnostics& problems) override {
    for (const Diagnostic& problem : problems) evaluator_.diagnostics_->add(problem);
  }
  void error(std::string message) override { evaluator_.error(expr_.range, expr_.name + ": " + std::move(message)); }
  bool is_out_of_budget() const override { return evaluator_.spent_ > kMaxEvaluationSteps; }

 private:
  Evaluator& evaluator_;
  const CallExpr& expr_;
  const EvalContext& context_;
};

Evaluator::Maybe Evaluator::eval_deferred(const Function& function, const CallExpr& expr, const EvalContext& context) {
  if (expr.expand_last) {
    error(expr.range, expr.name + ": its arguments cannot be spread with ...");
    return std::nullopt;
  }
  Deferral call(*this, expr, context);
  Maybe value = function.deferred()(call);
  if (value && !spend(value->weight() / kBytesPerStep, expr.range)) return std::nullopt;
  return value ? fitting(*std::move(value), expr.range) : std::nullopt;
}

}  // namespace drover::hcl
