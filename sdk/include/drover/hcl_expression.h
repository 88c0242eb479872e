// Single expressions, for consumers that evaluate in an order of their own or look at how a file was written. As pure
// as drover/hcl.h.
#pragma once

#include <memory>

#include "drover/hcl.h"

namespace drover::hcl {

// Several evaluations with one budget of kMaxEvaluationSteps together. One thread at a time.
class Evaluation {
 public:
  explicit Evaluation(Diagnostics& diagnostics);  // borrowed
  ~Evaluation();
  Evaluation(const Evaluation&) = delete;
  Evaluation& operator=(const Evaluation&) = delete;

  // Null when there was an error, which is then in the diagnostics.
  Value evaluate(const Expression& expression, const EvalContext& context);

 private:
  std::unique_ptr<class Evaluator> evaluator_;
};

// `[{ … }]` for an expression that is written `{ … }`; every other one as it is, also when its value is an object.
Expression listed_literal(const Expression& expression);

}  // namespace drover::hcl
