// Bodies to nodes: every expression evaluated, dynamic blocks written out.
#include "evaluator.h"

namespace drover::hcl {
namespace {

constexpr size_t kStepsPerBlock = 20;  // a block costs memory, so fewer of them than of other steps

class BodyEvaluator {
 public:
  explicit BodyEvaluator(Diagnostics& diagnostics) : evaluator_(diagnostics) {}

  Node evaluate(const Body& body, const EvalContext& context) {
    Node node;
    node.range = body.range;
    node.file = body.source ? body.source->name : std::string();
    for (const Attribute& attribute : body.attributes) {
      if (std::optional<Value> value = evaluator_.evaluate(attribute.expression, context)) {
        node.attributes[attribute.name] = {*std::move(value), attribute.expression.range(), attribute.name_range};
      }
    }
    for (const Block& block : body.blocks) {
      evaluator_.set_file(node.file);
      if (block.type == "dynamic") {
        expand(block, context, node);
      } else if (evaluator_.spend(kStepsPerBlock, block.range)) {
        node.blocks.push_back({block.type, block.labels, evaluate(block.body, context), block.range});
      }
    }
    return node;
  }

 private:
  struct Template {
    std::string type;
    std::string iterator;
    const Attribute* for_each = nullptr;
    const Attribute* labels = nullptr;
    const Block* content = nullptr;
  };

  bool read(const Block& block, Template& result) {
    if (block.labels.size() != 1) {
      evaluator_.error(block.range, "a dynamic block has one label, the type of the blocks to make");
      return false;
    }
    result.type = result.iterator = block.labels[0];
    for (const Attribute& attribute : block.body.attributes) {
      if (attribute.name == "for_each") {
        result.for_each = &attribute;
      } else if (attribute.name == "labels") {
        result.labels = &attribute;
      } else if (attribute.name == "iterator") {
        const Expr* tree = attribute.expression.tree();
        // JSON has no bare names, there the iterator is a string.
        if (tree && tree->kind == ExprKind::traversal && static_cast<const TraversalExpr&>(*tree).steps.empty()) {
          result.iterator = static_cast<const TraversalExpr&>(*tree).root;
        } else if (tree && tree->kind == ExprKind::literal &&
                   static_cast<const LiteralExpr&>(*tree).value.is_string()) {
          result.iterator = static_cast<const LiteralExpr&>(*tree).value.string();
        } else {
          evaluator_.error(attribute.expression.range(), "the iterator of a dynamic block is a single name");
          return false;
        }
      } else {
        evaluator_.error(attribute.name_range, "a dynamic block has no attribute \"" + attribute.name + "\"",
                         "known are for_each, iterator and labels");
        return false;
      }
    }
    for (const Block& inner : block.body.blocks) {
      if (inner.type != "content" || result.content) {
        evaluator_.error(inner.range, "a dynamic block holds one content block and no other");
        return false;
      }
      result.content = &inner;
    }
    if (!result.for_each)
      evaluator_.error(block.range, "a dynamic block needs for_each");
    else if (!result.content)
      evaluator_.error(block.range, "a dynamic block needs a content block");
    return result.for_each && result.content;
  }

  std::optional<std::vector<std::string>> labels(const Template& from, const EvalContext& context) {
    std::vector<std::string> result;
    if (!from.labels) return result;
    std::optional<Value> value = evaluator_.evaluate(from.labels->expression, context);
    if (!value) return std::nullopt;
    if (value->is_list()) {
      for (const Value& label : value->list()) {
        if (std::optional<std::string> text = as_string(label)) result.push_back(*std::move(text));
      }
      if (result.size() == value->list().size()) return result;
    }
    evaluator_.error(from.labels->expression.range(), "the labels of a dynamic block are a list of strings");
    return std::nullopt;
  }

  void expand(const Block& block, const EvalContext& context, Node& node) {
    Template from;
    if (!read(block, from)) return;
    std::optional<Value> collection = evaluator_.evaluate(from.for_each->expression, context);
    if (!collection) return;
    if (!collection->is_list() && !collection->is_object()) {
      evaluator_.error(from.for_each->expression.range(), "for_each of a dynamic block is a list or an object, not " +
                                                              std::string(to_string(collection->kind())));
      return;
    }
    EvalContext inner;
    inner.parent = &context;
    auto visit = [&](Value key, Value value) {
      if (!evaluator_.spend(kStepsPerBlock, block.range)) return false;
      inner.variables[from.iterator] = Value(Object{{"key", std::move(key)}, {"value", std::move(value)}});
      std::optional<std::vector<std::string>> names = labels(from, inner);
      if (!names) return false;
      node.blocks.push_back({from.type, *std::move(names), evaluate(from.content->body, inner), block.range});
      return true;
    };
    if (collection->is_list()) {
      for (size_t i = 0; i < collection->list().size(); ++i) {
        if (!visit(list_key(*collection, i), collection->list()[i])) return;
      }
    } else {
      for (const auto& [key, value] : collection->object()) {
        if (!visit(Value(key), value)) return;
      }
    }
  }

  Evaluator evaluator_;
};

}  // namespace

Node evaluate(const Body& body, const EvalContext& context, Diagnostics& diagnostics) {
  return BodyEvaluator(diagnostics).evaluate(body, context);
}

Value object_of(const Node& node) {
  Object out;
  for (const auto& [name, attribute] : node.attributes) out[name] = attribute.value;
  std::map<std::string, List> blocks;
  for (const NodeBlock& block : node.blocks) {
    Value value = object_of(block.body);
    for (auto label = block.labels.rbegin(); label != block.labels.rend(); ++label)
      value = Value(Object{{*label, std::move(value)}});
    blocks[block.type].push_back(std::move(value));
  }
  for (auto& [type, list] : blocks) out[type] = Value(std::move(list));
  return Value(std::move(out));
}

const Value* Node::find(std::string_view name) const {
  auto attribute = attributes.find(name);
  return attribute == attributes.end() ? nullptr : &attribute->second.value;
}

}  // namespace drover::hcl
