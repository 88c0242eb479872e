#include <algorithm>

#include "ast.h"
#include "drover/hcl_type.h"
#include "drover/nearest.h"
#include "functions.h"

namespace drover::hcl {
namespace {

constexpr std::string_view kNames[] = {"any", "bool", "number", "string", "list", "set", "map", "object", "tuple"};

class TypeReader {
 public:
  TypeReader(const std::string& file, bool is_json, Diagnostics& diagnostics)
      : file_(file), is_json_(is_json), diagnostics_(diagnostics) {}

  std::optional<Type> read(const Expr& expr) {
    if (expr.kind == ExprKind::traversal) return keyword(static_cast<const TraversalExpr&>(expr));
    if (expr.kind == ExprKind::call) return constructor(static_cast<const CallExpr&>(expr));
    if (expr.kind == ExprKind::template_text || expr.kind == ExprKind::literal) return quoted(expr);
    return error(expr.range, "this is not a type");
  }

 private:
  std::nullopt_t error(Range range, std::string text, std::string hint = {}) {
    diagnostics_.error(file_, range, std::move(text), std::move(hint));
    return std::nullopt;
  }

  std::optional<Type> keyword(const TraversalExpr& expr) {
    if (!expr.steps.empty()) return error(expr.range, "this is not a type");
    return named(expr.root, expr.range);
  }

  // In JSON a type is the text of one. In native syntax it is not: files of the language's first version had it so.
  std::optional<Type> quoted(const Expr& expr) {
    const Expr* part = &expr;
    if (part->kind == ExprKind::template_text) {
      const auto& parts = static_cast<const TemplateExpr&>(expr).parts;
      if (parts.size() != 1) return error(expr.range, "this is not a type");
      part = parts.front().get();
    }
    if (part->kind != ExprKind::literal) return error(expr.range, "this is not a type");
    const Value& value = static_cast<const LiteralExpr*>(part)->value;
    if (!value.is_string()) return error(expr.range, "this is not a type");
    if (is_json_) return parse_type(parse_expression(file_, value.string(), diagnostics_), diagnostics_);
    return error(expr.range, "a type is written without quotes", "write " + value.string());
  }

  std::optional<Type> named(const std::string& name, Range range) {
    if (name == "any") return Type{};
    if (name == "bool") return Type{.kind = Type::Kind::boolean};
    if (name == "number") return Type{.kind = Type::Kind::number};
    if (name == "string") return Type{.kind = Type::Kind::string};
    if (std::ranges::find(kNames, name) != std::end(kNames)) {
      return error(range, "the type " + name + " needs to know what it holds",
                   name == "object"  ? "object({name = string})"
                   : name == "tuple" ? "tuple([string, number])"
                                     : name + "(string)");
    }
    return error(range, "there is no type named \"" + name + "\"", nearest_hint(name, kNames));
  }

  std::optional<Type> constructor(const CallExpr& expr) {
    static const std::map<std::string, Type::Kind, std::less<>> kConstructors = {{"list", Type::Kind::list},
                                                                                 {"set", Type::Kind::set},
                                                                                 {"map", Type::Kind::map},
                                                                                 {"object", Type::Kind::object},
                                                                                 {"tuple", Type::Kind::tuple}};
    auto found = kConstructors.find(expr.name);
    if (found == kConstructors.end()) {
      return error(expr.name_range, "there is no type named \"" + expr.name + "\"", nearest_hint(expr.name, kNames));
    }
    if (expr.arguments.size() != 1 || expr.expand_last) {
      return error(expr.range, "the type " + expr.name + " takes one argument");
    }
    const Expr& argument = *expr.arguments.front();
    Type type{.kind = found->second};
    if (type.kind == Type::Kind::object) return object(argument, std::move(type));
    if (type.kind == Type::Kind::tuple) return tuple(argument, std::move(type));
    std::optional<Type> element = read(argument);
    if (!element) return std::nullopt;
    type.elements.push_back(*std::move(element));
    return type;
  }

  std::optional<Type> object(const Expr& argument, Type type) {
    if (argument.kind != ExprKind::object) return error(argument.range, "an object type is object({name = type})");
    for (const ObjectExpr::Item& item : static_cast<const ObjectExpr&>(argument).items) {
      if (item.key->kind != ExprKind::literal) return error(item.key->range, "the name of an attribute is a word");
      const Value& key = static_cast<const LiteralExpr&>(*item.key).value;
      if (!key.is_string()) return error(item.key->range, "the name of an attribute is a word");
      std::optional<Type> element = read(*item.value);
      if (!element) return std::nullopt;
      type.attributes.insert_or_assign(key.string(), *std::move(element));
    }
    return type;
  }

  std::optional<Type> tuple(const Expr& argument, Type type) {
    if (argument.kind != ExprKind::tuple) return error(argument.range, "a tuple type is tuple([type, type])");
    for (const ExprPtr& element : static_cast<const TupleExpr&>(argument).elements) {
      std::optional<Type> read_type = read(*element);
      if (!read_type) return std::nullopt;
      type.elements.push_back(*std::move(read_type));
    }
    return type;
  }

  const std::string& file_;
  bool is_json_;
  Diagnostics& diagnostics_;
};

Status cannot(const Value& value, const Type& type) {
  return invalid_argument(to_string(type) + " required, not " + std::string(to_string(value.kind())));
}

// The one type of the elements of a collection, where the collection's own leaves it open.
Result<Type> element_type(const Value& value, const Type& type) {
  const Type& element = type.elements.front();
  if (element.kind != Type::Kind::any || value.shape() != Shape::structural) return element;
  const std::optional<Type> whole = type_of(value);
  if (!whole) return resource_exhausted("this value has more than " + std::to_string(kMaxTypeParts) + " parts");
  std::vector<Type> types = whole->elements;
  for (const auto& attribute : whole->attributes) types.push_back(attribute.second);
  if (types.empty()) return element;
  if (std::optional<Type> one = unify(std::move(types))) return *std::move(one);
  return invalid_argument("the elements of a " + std::string(kNames[static_cast<size_t>(type.kind)]) +
                          " have one type, these have several");
}

Result<Value> to_list(const Value& value, const Type& type) {
  if (!value.is_list()) return cannot(value, type);
  DROVER_TRY(Type element, element_type(value, type));
  List result;
  result.reserve(value.list().size());
  for (size_t i = 0; i < value.list().size(); ++i) {
    Result<Value> converted = convert(value.list()[i], element);
    if (!converted) return converted.status().with_context("element " + std::to_string(i));
    result.push_back(*std::move(converted));
  }
  if (type.kind == Type::Kind::set) return Value(as_set(std::move(result)), Shape::set);
  return Value(std::move(result), Shape::collection);
}

Result<Value> to_map(const Value& value, const Type& type) {
  if (!value.is_object()) return cannot(value, type);
  DROVER_TRY(Type element, element_type(value, type));
  Object object;
  for (const auto& [key, given] : value.object()) {
    Result<Value> converted = convert(given, element);
    if (!converted) return converted.status().with_context("element \"" + key + "\"");
    object.emplace(key, *std::move(converted));
  }
  return Value(std::move(object), Shape::collection);
}

Result<Value> to_object(const Value& value, const Type& type) {
  if (!value.is_object()) return cannot(value, type);
  Object object;
  for (const auto& [name, wanted] : type.attributes) {
    const Value* given = value.find(name);
    if (!given) return invalid_argument("attribute \"" + name + "\" is required");
    Result<Value> converted = convert(*given, wanted);
    if (!converted) return converted.status().with_context("attribute \"" + name + "\"");
    object.emplace(name, *std::move(converted));
  }
  return Value(std::move(object));
}

Result<Value> to_tuple(const Value& value, const Type& type) {
  if (!value.is_list()) return cannot(value, type);
  const List& list = value.list();
  if (list.size() != type.elements.size()) {
    return invalid_argument("a tuple of " + std::to_string(type.elements.size()) + " elements required, not of " +
                            std::to_string(list.size()));
  }
  List result;
  for (size_t i = 0; i < list.size(); ++i) {
    Result<Value> converted = convert(list[i], type.elements[i]);
    if (!converted) return converted.status().with_context("element " + std::to_string(i));
    result.push_back(*std::move(converted));
  }
  return Value(std::move(result));
}

Result<Value> to_scalar(const Value& value, const Type& type) {
  if (type.kind == Type::Kind::string) {
    if (auto text = as_string(value)) return Value(*std::move(text));
  } else if (type.kind == Type::Kind::number) {
    if (auto number = as_number(value)) return Value(*number);
  } else if (auto truth = as_boolean(value)) {
    return Value(*truth);
  }
  return cannot(value, type);
}

}  // namespace

std::string to_string(const Type& type) {
  std::string name(kNames[static_cast<size_t>(type.kind)]);
  std::string inside;
  switch (type.kind) {
    case Type::Kind::list:
    case Type::Kind::set:
    case Type::Kind::map:
      return name + "(" + to_string(type.elements.front()) + ")";
    case Type::Kind::tuple:
      for (const Type& element : type.elements) inside += (inside.empty() ? "" : ", ") + to_string(element);
      return "tuple([" + inside + "])";
    case Type::Kind::object:
      for (const auto& [key, element] : type.attributes) {
        inside += (inside.empty() ? "" : ", ") + key + " = " + to_string(element);
      }
      return "object({" + inside + "})";
    default:
      return name;
  }
}

std::optional<Type> parse_type(const Expression& expression, Diagnostics& diagnostics) {
  if (!expression.tree()) return Type{};
  return TypeReader(expression.file(), expression.text().empty(), diagnostics).read(*expression.tree());
}

Result<Value> convert(const Value& value, const Type& type) {
  if (type.kind == Type::Kind::any || value.is_null() || value.is_unknown()) return value;
  switch (type.kind) {
    case Type::Kind::list:
    case Type::Kind::set:
      return to_list(value, type);
    case Type::Kind::map:
      return to_map(value, type);
    case Type::Kind::object:
      return to_object(value, type);
    case Type::Kind::tuple:
      return to_tuple(value, type);
    default:
      return to_scalar(value, type);
  }
}

}  // namespace drover::hcl
