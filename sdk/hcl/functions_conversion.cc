// Functions between types, and those that look at expressions: try, can, convert.
#include "drover/hcl_type.h"
#include "functions.h"

namespace drover::hcl {
namespace {

Function::Call conversion(Type type) {
  return with_count(1, 1, [type = std::move(type)](Arguments arguments) { return convert(arguments[0], type); });
}

Type collection(Type::Kind kind) { return {.kind = kind, .elements = {Type{}}}; }

// The first argument that evaluates.
std::optional<Value> try_each(DeferredCall& call) {
  if (call.size() == 0) return call.error("takes one or more arguments"), std::nullopt;
  Diagnostics last;
  for (size_t i = 0; i < call.size(); ++i) {
    last = Diagnostics();
    if (std::optional<Value> value = call.attempt(i, last)) return value;
    if (call.is_out_of_budget()) break;
  }
  call.report(last);
  return std::nullopt;
}

// True when the argument evaluates.
std::optional<Value> can(DeferredCall& call) {
  if (call.size() != 1) return call.error("takes one argument"), std::nullopt;
  Diagnostics problems;
  bool has_value = call.attempt(0, problems).has_value();
  if (has_value || !call.is_out_of_budget()) return Value(has_value);
  call.report(problems);
  return std::nullopt;
}

// convert(value, type)
std::optional<Value> convert_to(DeferredCall& call) {
  if (call.size() != 2) return call.error("takes a value and a type"), std::nullopt;
  std::optional<Value> value = call.evaluate(0);
  Diagnostics problems;
  std::optional<Type> type = parse_type(call.argument(1), problems);
  call.report(problems);
  if (!value || !type) return std::nullopt;
  Result<Value> converted = convert(*value, *type);
  if (!converted) return call.error(converted.status().message()), std::nullopt;
  return *std::move(converted);
}

}  // namespace

void add_conversion_functions(Functions& functions) {
  functions["tostring"] = conversion({.kind = Type::Kind::string});
  functions["tonumber"] = conversion({.kind = Type::Kind::number});
  functions["tobool"] = conversion({.kind = Type::Kind::boolean});
  functions["tolist"] = conversion(collection(Type::Kind::list));
  functions["toset"] = conversion(collection(Type::Kind::set));
  functions["tomap"] = conversion(collection(Type::Kind::map));
  functions["try"] = Function::of_expressions(try_each);
  functions["can"] = Function::of_expressions(can);
  functions["convert"] = Function::of_expressions(convert_to);
}

}  // namespace drover::hcl
