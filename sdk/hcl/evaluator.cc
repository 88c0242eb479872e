#include "evaluator.h"

#include <algorithm>

#include "drover/hcl_type.h"
#include "drover/nearest.h"
#include "unicode.h"

namespace drover::hcl {
namespace {

constexpr std::string_view kSplatItem = "*";  // no name in a file can be this

const Value* find_variable(const EvalContext* context, std::string_view name) {
  for (; context; context = context->parent) {
    if (auto found = context->variables.find(name); found != context->variables.end()) return &found->second;
  }
  return nullptr;
}

const Function* find_function(const EvalContext* context, std::string_view name) {
  for (; context; context = context->parent) {
    if (auto found = context->functions.find(name); found != context->functions.end()) return &found->second;
  }
  return nullptr;
}

bool keeps_unknown(const EvalContext* context) {
  for (; context; context = context->parent) {
    if (context->keep_unknown_interpolation) return true;
  }
  return false;
}

template <typename Map>
std::vector<std::string_view> keys_of(const Map& map) {
  std::vector<std::string_view> keys;
  for (const auto& entry : map) keys.push_back(entry.first);
  return keys;
}

// The names that a context and those around it know.
template <typename Member>
std::vector<std::string_view> names_of(const EvalContext* context, Member member) {
  std::vector<std::string_view> names;
  for (; context; context = context->parent) {
    for (std::string_view name : keys_of(context->*member)) {
      if (name != kSplatItem) names.push_back(name);
    }
  }
  return names;
}

// Dividing and printing fractions and large numbers takes much longer than anything else that is one step.
size_t number_steps(const Number& number) { return number.as_integer() ? 0 : number.text_size() / 8; }

std::string a_kind(const Value& value) {
  std::string name(to_string(value.kind()));
  return value.is_null() || value.is_unknown() ? name : value.is_object() ? "an " + name : "a " + name;
}

// Returns the kind of the elements when all are scalars of one kind.
std::optional<Kind> element_kind(const Value& list) {
  if (list.list().empty() || list.shape() == Shape::set) return std::nullopt;
  const Kind kind = list.list().front().kind();
  if (kind != Kind::string && kind != Kind::number && kind != Kind::boolean) return std::nullopt;
  const bool is_one = std::ranges::all_of(list.list(), [&](const Value& element) { return element.kind() == kind; });
  return is_one ? std::optional(kind) : std::nullopt;
}

constexpr size_t kMaxShownType = 60;

std::string shortened(std::string text) {
  if (text.size() <= kMaxShownType) return text;
  size_t end = kMaxShownType;
  while (end > 0 && (text[end] & 0xC0) == 0x80) --end;  // not inside of a character
  return text.substr(0, end) + "…";
}

}  // namespace

void Evaluator::error(Range range, std::string message, std::string hint) {
  diagnostics_->error(file_, range, std::move(message), std::move(hint));
}

bool Evaluator::spend(size_t steps, Range range) {
  bool was_spent = spent_ > kMaxEvaluationSteps;
  spent_ += steps;
  if (spent_ <= kMaxEvaluationSteps) return true;
  if (!was_spent) {
    error(range, "evaluating this takes more than " + std::to_string(kMaxEvaluationSteps) + " steps",
          "loops inside loops multiply");
  }
  return false;
}

template <typename Names>
std::string Evaluator::hint(std::string_view name, Names names, Range range) {
  if (attempts_ > 0) return {};
  const std::vector<std::string_view> known = names();
  return spend(known.size(), range) ? nearest_hint(name, known) : std::string();
}

std::optional<Value> Evaluator::evaluate(const Expression& expression, const EvalContext& context) {
  if (!expression.tree()) return Value();
  file_ = expression.file();
  source_ = expression.source();
  return eval(*expression.tree(), context);
}

Evaluator::Maybe Evaluator::fitting(Value value, Range range) {
  if (value.depth() > kMaxValueDepth) {
    error(range, "this value is nested more than " + std::to_string(kMaxValueDepth) + " levels deep");
    return std::nullopt;
  }
  if (value.weight() > kMaxValueWeight) {
    error(range, "this value is larger than " + std::to_string(kMaxValueWeight >> 20) + " MiB");
    return std::nullopt;
  }
  return value;
}

Evaluator::Maybe Evaluator::eval(const Expr& expr, const EvalContext& context) {
  if (!spend(1, expr.range)) return std::nullopt;
  Maybe value = eval_kind(expr, context);
  if (!value) return value;
  size_t more = value->is_string()   ? value->string().size() / kBytesPerStep
                : value->is_number() ? number_steps(value->number())
                                     : 0;
  if (!spend(more, expr.range)) return std::nullopt;
  return value;
}

Evaluator::Maybe Evaluator::eval_kind(const Expr& expr, const EvalContext& context) {
  switch (expr.kind) {
    case ExprKind::literal:
      return static_cast<const LiteralExpr&>(expr).value;
    case ExprKind::template_text:
      return eval_template(static_cast<const TemplateExpr&>(expr), context);
    case ExprKind::template_wrap:
      return eval(*static_cast<const TemplateExpr&>(expr).parts.front(), context);
    case ExprKind::template_for:
      return eval_template_for(static_cast<const TemplateExpr&>(expr), context);
    case ExprKind::traversal:
      return eval_traversal(static_cast<const TraversalExpr&>(expr), context);
    case ExprKind::attribute: {
      const auto& attribute = static_cast<const AttributeExpr&>(expr);
      Maybe object = eval(*attribute.object, context);
      return object ? attribute_of(*object, attribute.name, expr.range) : std::nullopt;
    }
    case ExprKind::index:
      return eval_index(static_cast<const IndexExpr&>(expr), context);
    case ExprKind::splat:
      return eval_splat(static_cast<const SplatExpr&>(expr), context);
    case ExprKind::splat_item: {
      const Value* item = find_variable(&context, kSplatItem);
      DROVER_CHECK(item != nullptr);
      return *item;
    }
    case ExprKind::tuple:
      return eval_tuple(static_cast<const TupleExpr&>(expr), context);
    case ExprKind::object:
      return eval_object(static_cast<const ObjectExpr&>(expr), context);
    case ExprKind::call:
      return eval_call(static_cast<const CallExpr&>(expr), context);
    case ExprKind::unary:
      return eval_unary(static_cast<const UnaryExpr&>(expr), context);
    case ExprKind::binary:
      return eval_binary(static_cast<const BinaryExpr&>(expr), context);
    case ExprKind::conditional:
      return eval_conditional(static_cast<const ConditionalExpr&>(expr), context);
    case ExprKind::for_loop:
      return eval_for(static_cast<const ForExpr&>(expr), context);
  }
  return std::nullopt;
}

// ---- templates

bool Evaluator::append_text(std::string& text, const Value& value, Range range) {
  std::optional<std::string> part = as_string(value);
  if (!part) {
    error(range, "a template needs text here, this is " + a_kind(value),
          value.is_list() || value.is_object() ? "use join or jsonencode" : "");
    return false;
  }
  if (text.size() + part->size() > kMaxValueWeight) {
    error(range, "this value is larger than " + std::to_string(kMaxValueWeight >> 20) + " MiB");
    return false;
  }
  text += *part;
  return true;
}

Evaluator::Maybe Evaluator::eval_template(const TemplateExpr& expr, const EvalContext& context) {
  std::string text;
  bool has_unknown = false;
  for (const ExprPtr& part : expr.parts) {
    Maybe value = eval(*part, context);
    if (!value) return std::nullopt;
    if (value->is_unknown())
      has_unknown = true;
    else if (!append_text(text, *value, part->range))
      return std::nullopt;
  }
  if (has_unknown) return Value::unknown();
  return Value(std::move(text));
}

Evaluator::Maybe Evaluator::eval_template_for(const TemplateExpr& expr, const EvalContext& context) {
  Maybe list = eval(*expr.parts.front(), context);
  if (!list || list->is_unknown()) return list;
  std::string text;
  for (const Value& value : list->list()) {
    if (value.is_unknown()) return Value::unknown();
    if (!append_text(text, value, expr.range)) return std::nullopt;
  }
  return Value(std::move(text));
}

// ---- references and parts of values

Evaluator::Maybe Evaluator::eval_traversal(const TraversalExpr& expr, const EvalContext& context) {
  const Value* root = find_variable(&context, expr.root);
  if (!root) {
    if (keeps_unknown(&context)) return Value("${" + std::string(expr.text()) + "}");
    error(expr.range, "there is no variable named \"" + expr.root + "\"",
          hint(
              expr.root, [&] { return names_of(&context, &EvalContext::variables); }, expr.range));
    return std::nullopt;
  }
  Maybe value = *root;
  for (const TraversalStep& step : expr.steps) {
    if (!spend(1, step.range)) return std::nullopt;
    value = step.is_attribute ? attribute_of(*value, step.key.string(), step.range)
                              : element_of(*value, step.key, step.range);
    if (!value) return std::nullopt;
  }
  return value;
}

Evaluator::Maybe Evaluator::attribute_of(const Value& value, const std::string& name, Range range) {
  if (value.is_unknown()) return Value::unknown();
  if (const Value* member = value.find(name)) return *member;
  if (value.is_object()) {
    error(range, "this object has no attribute named \"" + name + "\"",
          hint(
              name, [&] { return keys_of(value.object()); }, range));
  } else {
    error(range, a_kind(value) + " has no attributes, so \"" + name + "\" means nothing here",
          value.is_list() ? "use [*]." + name + " to take it from every element" : "");
  }
  return std::nullopt;
}

Evaluator::Maybe Evaluator::element_of(const Value& value, const Value& key, Range range) {
  if (value.is_unknown() || key.is_unknown()) return Value::unknown();
  if (value.is_object()) {
    std::optional<std::string> name = as_string(key);
    if (name && value.find(*name)) return *value.find(*name);
    if (name)
      error(range, "this object has no element \"" + *name + "\"",
            hint(
                *name, [&] { return keys_of(value.object()); }, range));
    else
      error(range, "the key of an object is text, this is " + a_kind(key));
    return std::nullopt;
  }
  if (!value.is_list()) {
    error(range, a_kind(value) + " has no elements to take by index");
    return std::nullopt;
  }
  std::optional<int64_t> index = as_integer(key);
  const List& list = value.list();
  if (!index) {
    error(range, "the index of a list is a whole number");
  } else if (*index < 0 || static_cast<size_t>(*index) >= list.size()) {
    error(range, "the index " + std::to_string(*index) + " is outside of this list of " + std::to_string(list.size()) +
                     (list.size() == 1 ? " element" : " elements"));
  } else {
    return list[static_cast<size_t>(*index)];
  }
  return std::nullopt;
}

Evaluator::Maybe Evaluator::eval_index(const IndexExpr& expr, const EvalContext& context) {
  Maybe collection = eval(*expr.collection, context);
  if (!collection) return std::nullopt;
  Maybe key = eval(*expr.key, context);
  return key ? element_of(*collection, *key, expr.range) : std::nullopt;
}

Evaluator::Maybe Evaluator::eval_splat(const SplatExpr& expr, const EvalContext& context) {
  Maybe collection = eval(*expr.collection, context);
  if (!collection || collection->is_unknown()) return collection;
  if (!spend(collection->weight() / kBytesPerStep, expr.range)) return std::nullopt;
  const List whole = collection->is_list() || collection->is_null() ? List() : List{*collection};
  const List& items = collection->is_list() ? collection->list() : whole;
  List results;
  EvalContext inner;
  inner.parent = &context;
  Value& item = inner.variables[std::string(kSplatItem)];
  for (const Value& element : items) {
    item = element;
    Maybe result = eval(*expr.each, inner);
    if (!result) return std::nullopt;
    results.push_back(*std::move(result));
  }
  const bool is_structural = collection->shape() == Shape::structural;
  return fitting(Value(std::move(results), is_structural ? Shape::structural : Shape::collection), expr.range);
}

// ---- constructors

Evaluator::Maybe Evaluator::eval_tuple(const TupleExpr& expr, const EvalContext& context) {
  List elements;
  elements.reserve(expr.elements.size());
  bool good = true;  // every element's problem is reported
  for (const ExprPtr& element : expr.elements) {
    Maybe value = eval(*element, context);
    if (value)
      elements.push_back(*std::move(value));
    else
      good = false;
  }
  return good ? fitting(std::move(elements), expr.range) : std::nullopt;
}

Evaluator::Maybe Evaluator::eval_object(const ObjectExpr& expr, const EvalContext& context) {
  Object object;
  bool good = true;
  for (const ObjectExpr::Item& item : expr.items) {
    Maybe key = eval(*item.key, context);
    Maybe value = eval(*item.value, context);
    if (!key || !value) {
      good = false;
      continue;
    }
    if (key->is_unknown()) return Value::unknown();
    std::optional<std::string> name = as_string(*key);
    if (!name) {
      error(item.key->range, "the key of an object is text, this is " + a_kind(*key));
      good = false;
      continue;
    }
    object.insert_or_assign(*std::move(name), *std::move(value));
  }
  return good ? fitting(std::move(object), expr.range) : std::nullopt;
}

Evaluator::Maybe Evaluator::eval_for(const ForExpr& expr, const EvalContext& context) {
  Maybe collection = eval(*expr.collection, context);
  if (!collection || collection->is_unknown()) return collection;
  if (!collection->is_list() && !collection->is_object()) {
    error(expr.collection->range, "a loop needs a list or an object, this is " + a_kind(*collection));
    return std::nullopt;
  }
  List list;
  std::map<std::string, List, std::less<>> groups;
  Object object;
  EvalContext inner;
  inner.parent = &context;
  auto visit = [&](Value key, const Value& value) {
    if (!expr.key_name.empty()) inner.variables.insert_or_assign(expr.key_name, std::move(key));
    inner.variables.insert_or_assign(expr.value_name, value);
    if (expr.condition) {
      Maybe chosen = eval(*expr.condition, inner);
      std::optional<bool> is_chosen =
          chosen ? condition(*chosen, expr.condition->range, "the condition of a for expression") : std::nullopt;
      if (!is_chosen) return false;
      if (!*is_chosen) return true;
    }
    Maybe result = eval(*expr.value, inner);
    if (!result) return false;
    if (!expr.key) {
      list.push_back(*std::move(result));
      return true;
    }
    Maybe new_key = eval(*expr.key, inner);
    if (!new_key) return false;
    std::optional<std::string> name = as_string(*new_key);
    if (!name) {
      error(expr.key->range, "the key of an object is text, this is " + a_kind(*new_key));
      return false;
    }
    if (expr.grouping) {
      groups[*name].push_back(*std::move(result));
    } else if (!object.emplace(*name, *std::move(result)).second) {
      error(expr.key->range, "two elements give the key \"" + *name + "\"", "add ... behind the value to group them");
      return false;
    }
    return true;
  };
  if (collection->is_list()) {
    for (size_t i = 0; i < collection->list().size(); ++i) {
      if (!visit(list_key(*collection, i), collection->list()[i])) return std::nullopt;
    }
  } else {
    for (const auto& [key, value] : collection->object()) {
      if (!visit(Value(key), value)) return std::nullopt;
    }
  }
  for (auto& [key, values] : groups) object.emplace(key, Value(std::move(values)));
  return fitting(expr.key ? Value(std::move(object)) : Value(std::move(list)), expr.range);
}

// ---- calls

Evaluator::Maybe Evaluator::eval_call(const CallExpr& expr, const EvalContext& context) {
  const Function* function = find_function(&context, expr.name);
  if (!function) {
    error(expr.name_range, "there is no function named \"" + expr.name + "\"",
          hint(
              expr.name, [&] { return names_of(&context, &EvalContext::functions); }, expr.name_range));
    return std::nullopt;
  }
  if (function->deferred()) return eval_deferred(*function, expr, context);
  std::vector<Value> arguments;
  bool has_unknown = false;
  for (const ExprPtr& argument : expr.arguments) {
    Maybe value = eval(*argument, context);
    if (!value) return std::nullopt;
    bool expands = expr.expand_last && argument == expr.arguments.back();
    if (expands && !value->is_list() && !value->is_unknown()) {
      error(argument->range, "only a list can be spread over arguments with ..., this is " + a_kind(*value));
      return std::nullopt;
    }
    has_unknown = has_unknown || value->has_unknown();
    if (!spend(value->weight() / kBytesPerStep, argument->range)) return std::nullopt;
    if (expands && value->is_list())
      arguments.insert(arguments.end(), value->list().begin(), value->list().end());
    else
      arguments.push_back(*std::move(value));
  }
  if (has_unknown) return Value::unknown();
  if (!spend(function->steps(), expr.range)) return std::nullopt;
  Result<Value> result = (*function)(arguments);
  if (!result) {
    error(expr.range, expr.name + ": " + result.status().message());
    return std::nullopt;
  }
  if (!spend(result->weight() / kBytesPerStep, expr.range)) return std::nullopt;
  if (result->is_string() && !is_utf8(result->string())) {
    error(expr.range, expr.name + ": the result is not UTF-8 text");
    return std::nullopt;
  }
  return fitting(*std::move(result), expr.range);
}

// ---- operators

std::optional<bool> Evaluator::condition(const Value& value, Range range, std::string_view what) {
  std::optional<bool> result = as_boolean(value);
  if (!result) error(range, std::string(what) + " is true or false, this is " + a_kind(value));
  return result;
}

Evaluator::Maybe Evaluator::eval_unary(const UnaryExpr& expr, const EvalContext& context) {
  Maybe value = eval(*expr.operand, context);
  if (!value || value->is_unknown()) return value;
  if (expr.op == Operator::logical_not) {
    std::optional<bool> operand = condition(*value, expr.operand->range, "the operand of !");
    return operand ? Maybe(Value(!*operand)) : std::nullopt;
  }
  std::optional<Number> number = as_number(*value);
  if (number) return Value(negate(*number));
  error(expr.operand->range, "the operand of - is a number, this is " + a_kind(*value));
  return std::nullopt;
}

Evaluator::Maybe Evaluator::eval_binary(const BinaryExpr& expr, const EvalContext& context) {
  if (expr.op == Operator::logical_and || expr.op == Operator::logical_or) return eval_logical(expr, context);
  Maybe left = eval(*expr.left, context);
  Maybe right = eval(*expr.right, context);
  if (!left || !right) return std::nullopt;
  if (left->has_unknown() || right->has_unknown()) return Value::unknown();
  if (expr.op == Operator::equal || expr.op == Operator::not_equal) {
    if (!spend((left->weight() + right->weight()) / kBytesPerStep, expr.range)) return std::nullopt;
    return Value((*left == *right) == (expr.op == Operator::equal));
  }
  return eval_arithmetic(expr, *left, *right);
}

// The right side is evaluated only when it matters, so that `x != null && x.y` can be written.
Evaluator::Maybe Evaluator::eval_logical(const BinaryExpr& expr, const EvalContext& context) {
  bool is_and = expr.op == Operator::logical_and;
  std::string_view what = is_and ? "an operand of &&" : "an operand of ||";
  Maybe left = eval(*expr.left, context);
  if (!left || left->is_unknown()) return left;
  std::optional<bool> first = condition(*left, expr.left->range, what);
  if (!first) return std::nullopt;
  if (*first != is_and) return Value(*first);
  Maybe right = eval(*expr.right, context);
  if (!right || right->is_unknown()) return right;
  std::optional<bool> second = condition(*right, expr.right->range, what);
  return second ? Maybe(Value(*second)) : std::nullopt;
}

Evaluator::Maybe Evaluator::eval_arithmetic(const BinaryExpr& expr, const Value& left, const Value& right) {
  std::optional<Number> a = as_number(left), b = as_number(right);
  if (!a || !b) {
    const Value& wrong = a ? right : left;
    error((a ? expr.right : expr.left)->range, "this operator works on numbers, this is " + a_kind(wrong),
          wrong.is_string() && expr.op == Operator::add ? "join texts with a template: \"${a}${b}\"" : "");
    return std::nullopt;
  }
  std::optional<Number> result;
  switch (expr.op) {
    case Operator::less:
      return Value(*a < *b);
    case Operator::less_equal:
      return Value(*a <= *b);
    case Operator::greater:
      return Value(*a > *b);
    case Operator::greater_equal:
      return Value(*a >= *b);
    case Operator::add:
      result = add(*a, *b);
      break;
    case Operator::subtract:
      result = subtract(*a, *b);
      break;
    case Operator::multiply:
      result = multiply(*a, *b);
      break;
    case Operator::divide:
      result = divide(*a, *b);
      break;
    default:
      result = modulo(*a, *b);
      break;
  }
  if (result) return Value(*result);
  error(expr.range, *b == Number() ? "division by zero" : "the result is too large or too small a number");
  return std::nullopt;
}

Evaluator::Maybe Evaluator::eval_conditional(const ConditionalExpr& expr, const EvalContext& context) {
  Maybe decision = eval(*expr.condition, context);
  if (!decision || decision->is_unknown()) return decision;
  std::optional<bool> is_true = condition(*decision, expr.condition->range, "a condition");
  if (!is_true) return std::nullopt;
  Maybe chosen = eval(*is_true ? *expr.if_true : *expr.if_false, context);
  if (!chosen) return std::nullopt;
  // The other result decides about the type only; its errors do not matter.
  Diagnostics ignored;
  Maybe other = attempt(*is_true ? *expr.if_false : *expr.if_true, context, ignored);
  if (!other && spent_ > kMaxEvaluationSteps) {
    for (const Diagnostic& diagnostic : ignored) diagnostics_->add(diagnostic);
    return std::nullopt;
  }
  return other ? unify(expr, *std::move(chosen), *other) : chosen;
}

// Both results of a condition have one type.
Evaluator::Maybe Evaluator::unify(const ConditionalExpr& expr, Value chosen, const Value& other) {
  if (chosen.is_null() || other.is_null() || chosen.is_unknown() || other.is_unknown()) return chosen;
  const bool is_container = chosen.is_list() || chosen.is_object();
  if (chosen.kind() == other.kind() && !is_container) return chosen;
  if (!spend((chosen.weight() + other.weight()) / kBytesPerStep, expr.range)) return std::nullopt;
  if (chosen.is_list() && other.is_list()) {  // long lists are mostly such, and need no types of their elements
    const std::optional<Kind> kind = element_kind(chosen);
    if (kind && kind == element_kind(other)) {
      const bool is_one = chosen.shape() == other.shape() && chosen.list().size() == other.list().size();
      return is_one ? chosen : Value(chosen.list(), Shape::collection);
    }
  }
  if (!spend((chosen.weight() + other.weight()) / kBytesPerType, expr.range)) return std::nullopt;
  const std::optional<Type> own = type_of(chosen), others = type_of(other);
  if (!own || !others) {
    error(expr.range, "the results of this condition have more than " + std::to_string(kMaxTypeParts) + " parts");
    return std::nullopt;
  }
  if (*own == *others) return chosen;
  const auto differ = [&](const std::string& how) {
    error(expr.range, "the two results of this condition have different types: " + how);
    return std::nullopt;
  };
  const std::optional<Type> common = hcl::unify({*own, *others});
  if (!common) {
    const bool by_kind = chosen.kind() != other.kind();
    return differ(by_kind ? a_kind(chosen) + " and " + a_kind(other)
                          : shortened(to_string(*own)) + " and " + shortened(to_string(*others)));
  }
  Result<Value> converted = convert(chosen, *common);
  if (!converted) return differ(std::string(converted.status().message()));
  return fitting(*std::move(converted), expr.range);
}

}  // namespace drover::hcl
