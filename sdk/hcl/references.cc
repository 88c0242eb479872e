// Lists the variables that an expression refers to, for consumers that evaluate in order of dependency.
#include "ast.h"

namespace drover::hcl {
namespace {

void collect(const Expr& expr, std::vector<std::string_view>& bound, std::vector<Reference>& found);

void collect_all(const std::vector<ExprPtr>& exprs, std::vector<std::string_view>& bound,
                 std::vector<Reference>& found) {
  for (const ExprPtr& expr : exprs) collect(*expr, bound, found);
}

void collect_for(const ForExpr& loop, std::vector<std::string_view>& bound, std::vector<Reference>& found) {
  collect(*loop.collection, bound, found);
  size_t before = bound.size();
  bound.push_back(loop.key_name);
  bound.push_back(loop.value_name);
  for (const ExprPtr& part : {loop.key, loop.value, loop.condition}) {
    if (part) collect(*part, bound, found);
  }
  bound.resize(before);
}

void collect_traversal(const TraversalExpr& expr, const std::vector<std::string_view>& bound,
                       std::vector<Reference>& found) {
  for (std::string_view name : bound) {
    if (name == expr.root) return;
  }
  Reference reference{expr.root, {}, expr.range};
  for (const TraversalStep& step : expr.steps) reference.steps.push_back(step.key);
  found.push_back(std::move(reference));
}

void collect(const Expr& expr, std::vector<std::string_view>& bound, std::vector<Reference>& found) {
  auto both = [&](const ExprPtr& a, const ExprPtr& b) {
    collect(*a, bound, found);
    collect(*b, bound, found);
  };
  switch (expr.kind) {
    case ExprKind::literal:
    case ExprKind::splat_item:
      return;
    case ExprKind::template_text:
    case ExprKind::template_wrap:
    case ExprKind::template_for:
      return collect_all(static_cast<const TemplateExpr&>(expr).parts, bound, found);
    case ExprKind::traversal:
      return collect_traversal(static_cast<const TraversalExpr&>(expr), bound, found);
    case ExprKind::attribute:
      return collect(*static_cast<const AttributeExpr&>(expr).object, bound, found);
    case ExprKind::index: {
      const auto& index = static_cast<const IndexExpr&>(expr);
      return both(index.collection, index.key);
    }
    case ExprKind::splat: {
      const auto& splat = static_cast<const SplatExpr&>(expr);
      return both(splat.collection, splat.each);
    }
    case ExprKind::tuple:
      return collect_all(static_cast<const TupleExpr&>(expr).elements, bound, found);
    case ExprKind::object:
      for (const ObjectExpr::Item& item : static_cast<const ObjectExpr&>(expr).items) both(item.key, item.value);
      return;
    case ExprKind::call:
      return collect_all(static_cast<const CallExpr&>(expr).arguments, bound, found);
    case ExprKind::unary:
      return collect(*static_cast<const UnaryExpr&>(expr).operand, bound, found);
    case ExprKind::binary: {
      const auto& binary = static_cast<const BinaryExpr&>(expr);
      return both(binary.left, binary.right);
    }
    case ExprKind::conditional: {
      const auto& conditional = static_cast<const ConditionalExpr&>(expr);
      collect(*conditional.condition, bound, found);
      return both(conditional.if_true, conditional.if_false);
    }
    case ExprKind::for_loop:
      return collect_for(static_cast<const ForExpr&>(expr), bound, found);
  }
}

}  // namespace

std::vector<Reference> references(const Expression& expression) {
  std::vector<Reference> found;
  std::vector<std::string_view> bound;
  if (expression.tree()) collect(*expression.tree(), bound, found);
  return found;
}

}  // namespace drover::hcl
