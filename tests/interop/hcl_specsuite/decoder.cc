#include "decoder.h"

#include <algorithm>

#include "drover/hcl_type.h"

namespace drover::hcl::specsuite {
namespace {

class Decoder {
 public:
  Decoder(EvalContext context, Diagnostics& diagnostics) : context_(std::move(context)), diagnostics_(diagnostics) {}

  // The value that the specification block makes of the body.
  std::optional<Value> read(const Block& rule, const Body& body) {
    if (rule.type == "literal") return evaluate(rule.body.find("value")->expression, context_, diagnostics_);
    if (rule.type == "object") return object(rule, body);
    if (rule.type == "attr") return attribute(rule, body);
    if (rule.type == "block" || rule.type == "block_list" || rule.type == "block_map") return blocks(rule, body);
    problem(rule.range, "this reader does not know the specification \"" + rule.type + "\"");
    return std::nullopt;
  }

  // Reports everything in a body that the specification does not allow.
  void refuse_surplus(const Block& rule, const Body& body) {
    std::vector<const Block*> parts = parts_of(rule);
    if (rule.type == "literal") return;
    for (const Attribute& given : body.attributes) {
      bool is_known = std::ranges::any_of(
          parts, [&](const Block* part) { return part->type == "attr" && name_of(*part) == given.name; });
      if (!is_known) problem(given.name_range, "an argument named \"" + given.name + "\" is not expected here");
    }
    for (const Block& given : body.blocks) {
      bool is_known = std::ranges::any_of(
          parts, [&](const Block* part) { return part->type != "attr" && name_of(*part) == given.type; });
      if (!is_known) problem(given.range, "a block of type \"" + given.type + "\" is not expected here");
    }
  }

 private:
  void problem(Range range, std::string text) { diagnostics_.error("", range, std::move(text)); }

  static std::vector<const Block*> parts_of(const Block& rule) {
    if (rule.type != "object") return {&rule};
    std::vector<const Block*> parts;
    for (const Block& part : rule.body.blocks) parts.push_back(&part);
    return parts;
  }

  std::string name_of(const Block& rule) {
    if (!rule.labels.empty()) return rule.labels.front();
    const Attribute* name = rule.body.find(rule.type == "attr" ? "name" : "block_type");
    return name ? as_string(evaluate(name->expression, context_, diagnostics_)).value_or("") : "";
  }

  static const Block* nested(const Block& rule) {
    return rule.body.blocks.empty() ? nullptr : &rule.body.blocks.front();
  }

  std::optional<Value> object(const Block& rule, const Body& body) {
    Object result;
    bool is_good = true;
    for (const Block& part : rule.body.blocks) {
      std::optional<Value> value = read(part, body);
      if (value)
        result.insert_or_assign(name_of(part), *std::move(value));
      else
        is_good = false;
    }
    return is_good ? std::optional<Value>(std::move(result)) : std::nullopt;
  }

  std::optional<Value> attribute(const Block& rule, const Body& body) {
    const Attribute* given = body.find(name_of(rule));
    if (!given) return Value();
    size_t before = diagnostics_.size();
    Value value = evaluate(given->expression, context_, diagnostics_);
    if (diagnostics_.size() > before) return std::nullopt;
    const Attribute* type_text = rule.body.find("type");
    std::optional<Type> type = type_text ? parse_type(type_text->expression, diagnostics_) : Type{};
    if (!type) return std::nullopt;
    Result<Value> converted = convert(value, *type);
    if (converted) return *converted;
    problem(given->expression.range(), converted.status().message());
    return std::nullopt;
  }

  std::optional<Value> blocks(const Block& rule, const Body& body) {
    List list;
    Object map;
    const Block* inner = nested(rule);
    for (const Block& given : body.blocks) {
      if (given.type != name_of(rule) || !inner) continue;
      refuse_surplus(*inner, given.body);
      std::optional<Value> value = read(*inner, given.body);
      if (!value) return std::nullopt;
      if (rule.type == "block_map" && !given.labels.empty()) map.insert_or_assign(given.labels.front(), *value);
      list.push_back(*std::move(value));
    }
    if (rule.type == "block_map") return Value(std::move(map));
    if (rule.type == "block_list") return Value(std::move(list));
    return list.empty() ? Value() : list.front();
  }

  EvalContext context_;
  Diagnostics& diagnostics_;
};

}  // namespace

std::optional<Value> decode(const Body& specification, const Body& body, Diagnostics& diagnostics) {
  EvalContext context;
  const Block* rule = nullptr;
  for (const Block& block : specification.blocks) {
    if (block.type != "variables") {
      rule = &block;
      continue;
    }
    for (const Attribute& variable : block.body.attributes) {
      context.variables[variable.name] = evaluate(variable.expression, {}, diagnostics);
    }
  }
  if (!rule) {
    diagnostics.error("", specification.range, "the specification is empty");
    return std::nullopt;
  }
  Decoder decoder(std::move(context), diagnostics);
  decoder.refuse_surplus(*rule, body);
  return decoder.read(*rule, body);
}

}  // namespace drover::hcl::specsuite
