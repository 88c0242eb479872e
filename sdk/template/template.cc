#include <nlohmann/json.hpp>
#include <utility>
#include <vector>

#include "functions.h"
#include "lexer.h"
#include "parser.h"

namespace drover::text_template {
namespace {

using nlohmann::json;

constexpr size_t kMaxCalls = 1000;  // lists of nodes within each other
constexpr size_t kBytesPerStep = 16;

class Runner {
 public:
  Runner(const Trees& trees, Value object, const Options& options)
      : trees_(trees), options_(options), variables_{{"$", std::move(object)}} {}

  Result<std::string> run() {
    Value dot = variables_[0].second;
    DROVER_TRY(Flow flow, walk(trees_.main, dot));
    static_cast<void>(flow);
    return std::move(out_);
  }

 private:
  enum class Flow { on, break_loop, next_round };

  Status step(const Place& place, size_t count = 1) {
    steps_ += count;
    if (steps_ <= kMaxTemplateSteps) return ok_status();
    return resource_exhausted(template_error(place, "the template takes too many steps").message());
  }

  Status write(const Place& place, std::string_view text) {
    out_ += text;
    if (out_.size() <= kMaxTemplateOutput) return ok_status();
    return resource_exhausted(template_error(place, "the output is larger than 64 MiB").message());
  }

  // ---- nodes

  Result<Flow> walk(const std::vector<Node>& nodes, const Value& dot) {
    if (nodes.empty()) return Flow::on;
    if (depth_ == kMaxCalls) return template_error(nodes[0].place, "templates invoke each other too deep");
    ++depth_;
    Result<Flow> flow = Flow::on;
    for (const Node& node : nodes) {
      flow = visit(node, dot);
      if (!flow || *flow != Flow::on) break;
    }
    --depth_;
    return flow;
  }

  Result<Flow> visit(const Node& node, const Value& dot) {
    DROVER_RETURN_IF_ERROR(step(node.place));
    switch (node.kind) {
      case Node::Kind::text:
        DROVER_RETURN_IF_ERROR(write(node.place, node.text));
        return Flow::on;
      case Node::Kind::action: {
        DROVER_TRY(Value value, evaluate(*node.pipeline, dot));
        if (node.pipeline->variables.empty()) DROVER_RETURN_IF_ERROR(write(node.place, shown(*value)));
        return Flow::on;
      }
      case Node::Kind::conditional:
      case Node::Kind::with:
        return branch(node, dot);
      case Node::Kind::range:
        return range(node, dot);
      case Node::Kind::invoke:
        return invoke(node, dot);
      case Node::Kind::break_loop:
        return Flow::break_loop;
      case Node::Kind::next_round:
        return Flow::next_round;
    }
    return Flow::on;
  }

  static std::string shown(const json& value) { return value.is_null() ? "<no value>" : printed(value); }

  Result<Flow> branch(const Node& node, const Value& dot) {
    size_t visible = variables_.size();
    DROVER_TRY(Value value, evaluate(*node.pipeline, dot));
    bool is_chosen = is_true(*value);
    const Value& inner = node.kind == Node::Kind::with && is_chosen ? value : dot;
    Result<Flow> flow = walk(is_chosen ? node.body : node.otherwise, inner);
    variables_.resize(visible);
    return flow;
  }

  Result<Flow> range(const Node& node, const Value& dot) {
    size_t visible = variables_.size();
    DROVER_TRY(Value value, evaluate(*node.pipeline, dot));
    if (!value->is_null() && !value->is_array() && !value->is_object() && !value->is_number_integer()) {
      return template_error(node.place,
                            "range takes a list, a map or an integer, this is " + std::string(type_of(*value)));
    }
    Result<bool> any = value->is_number_integer() ? count(node, value->get<int64_t>()) : each(node, value);
    variables_.resize(visible);
    if (!any) return any.status();
    return *any ? Result<Flow>(Flow::on) : walk(node.otherwise, dot);
  }

  // True when there was a round.
  Result<bool> each(const Node& node, const Value& value) {
    int64_t rounds = 0;
    for (const auto& element : value->items()) {
      Value key = value->is_array() ? value_of(rounds) : value_of(element.key());
      ++rounds;
      DROVER_TRY(Flow flow, round(node, key, part_of(value, element.value())));
      if (flow == Flow::break_loop) break;
    }
    return rounds > 0;
  }

  Result<bool> count(const Node& node, int64_t end) {
    for (int64_t i = 0; i < end; ++i) {
      DROVER_TRY(Flow flow, round(node, value_of(i), value_of(i)));
      if (flow == Flow::break_loop) break;
    }
    return end > 0;
  }

  Result<Flow> round(const Node& node, const Value& key, const Value& item) {
    DROVER_RETURN_IF_ERROR(step(node.place));
    size_t visible = variables_.size();
    const std::vector<std::string>& names = node.pipeline->variables;
    if (names.size() == 2) assign(names[0], key);
    if (!names.empty()) assign(names.back(), item);
    Result<Flow> flow = walk(node.body, item);
    variables_.resize(visible);
    return flow;
  }

  Result<Flow> invoke(const Node& node, const Value& dot) {
    Value argument = no_value();
    if (node.pipeline) {
      DROVER_TRY(argument, evaluate(*node.pipeline, dot));
    }
    return run_named(node.text, node.place, argument);
  }

  Result<Flow> run_named(const std::string& name, const Place& place, const Value& argument) {
    const auto found = trees_.named.find(name);
    if (found == trees_.named.end()) return template_error(place, "there is no template \"" + name + "\"");
    Variables outer = std::exchange(variables_, {{"$", argument}});
    Result<Flow> flow = walk(found->second, argument);
    variables_ = std::move(outer);
    return flow;
  }

  // `executeTemplate` gives the text of a template that is defined.
  Result<Value> text_of(const Place& place, std::span<const Value> arguments) {
    if (arguments.empty() || arguments.size() > 2 || !arguments[0]->is_string()) {
      return template_error(place, "executeTemplate: takes the name of a template, and its dot if it has one");
    }
    const Value& dot = arguments.size() == 2 ? arguments[1] : no_value();
    std::string outer = std::exchange(out_, {});
    const Result<Flow> flow = run_named(arguments[0]->get<std::string>(), place, dot);
    std::string text = std::exchange(out_, std::move(outer));
    if (!flow) return flow.status();
    return value_of(std::move(text));
  }

  void assign(const std::string& name, const Value& value) {
    for (size_t i = variables_.size(); i-- > 0;) {
      if (variables_[i].first != name) continue;
      variables_[i].second = value;
      return;
    }
  }

  // ---- pipelines

  Result<Value> evaluate(const Pipeline& pipeline, const Value& dot) {
    Value value;
    for (const Command& command : pipeline.commands) {
      DROVER_TRY(value, evaluate(command, dot, value));
    }
    for (const std::string& name : pipeline.variables) {
      if (pipeline.declares)
        variables_.emplace_back(name, value);
      else
        assign(name, value);
    }
    return value;
  }

  // `last`: what the command in front of it gave, or null.
  Result<Value> evaluate(const Command& command, const Value& dot, const Value& last) {
    const Operand& first = command.words[0];
    if (first.kind != Operand::Kind::function) {
      if (command.words.size() > 1 || last) {
        return template_error(first.place, "only a function takes arguments, and this is none");
      }
      return evaluate(first, dot);
    }
    DROVER_TRY(Value value, call(first.name, first.place, command, dot, last));
    return fields_of(first, std::move(value));
  }

  Result<Value> call(const std::string& name, const Place& place, const Command& command,
                             const Value& dot, const Value& last) {
    DROVER_RETURN_IF_ERROR(step(place));
    bool is_and = name == "and", is_logical = is_and || name == "or";
    std::vector<Value> arguments;
    for (size_t i = 1; i < command.words.size(); ++i) {
      DROVER_TRY(Value value, evaluate(command.words[i], dot));
      if (is_logical && is_true(*value) != is_and) return value;
      arguments.push_back(std::move(value));
    }
    if (last) arguments.push_back(last);
    if (is_logical) {
      if (arguments.empty()) return template_error(place, name + ": takes 1 or more arguments, not 0");
      return arguments.back();
    }
    Result<Value> value = call(name, place, arguments);
    if (!value) return value;
    // A made text takes memory as long as a variable holds it.
    if ((*value)->is_string()) {
      DROVER_RETURN_IF_ERROR(step(place, (*value)->get_ref<const std::string&>().size() / kBytesPerStep));
    }
    return value;
  }

  Result<Value> call(const std::string& name, const Place& place, std::span<const Value> arguments) {
    if (is_own_function(name)) {
      auto value = call_own_function(name, arguments);
      return value ? value : template_error(place, name + ": " + value.status().message());
    }
    if (name == "executeTemplate") return text_of(place, arguments);
    if (!options_.functions) return template_error(place, "there is no function " + name);
    return options_.functions->call(name, arguments).with_context(template_error(place, name).message());
  }

  Result<Value> evaluate(const Operand& operand, const Value& dot) {
    Value value = dot;
    switch (operand.kind) {
      case Operand::Kind::dot:
        break;
      case Operand::Kind::nil:
        value = no_value();
        break;
      case Operand::Kind::literal:
        return operand.literal;
      case Operand::Kind::variable:
        value = variable(operand.name);
        break;
      case Operand::Kind::function: {
        DROVER_TRY(value, call(operand.name, operand.place, Command{{operand}}, dot, nullptr));
        break;
      }
      case Operand::Kind::pipeline: {
        size_t visible = variables_.size();
        DROVER_TRY(value, evaluate(*operand.inner, dot));
        variables_.resize(visible);
        break;
      }
    }
    return fields_of(operand, std::move(value));
  }

  Value variable(const std::string& name) const {
    for (size_t i = variables_.size(); i-- > 0;) {
      if (variables_[i].first == name) return variables_[i].second;
    }
    return no_value();
  }

  Value method_of(const Value& value, const std::string& name) const {
    if (options_.functions == nullptr || (value->is_object() && value->contains(name))) return nullptr;
    return options_.functions->method(value, name);
  }

  Result<Value> fields_of(const Operand& operand, Value value) const {
    for (const std::string& name : operand.fields) {
      if (value == no_value()) return value;
      if (Value found = method_of(value, name)) {
        value = std::move(found);
        continue;
      }
      if (!value->is_object()) {
        return template_error(operand.place,
                              "there is no field " + name + " in a value of the type " + std::string(type_of(*value)));
      }
      auto found = value->find(name);
      if (found == value->end() && options_.missing_key_is_error)
        return template_error(operand.place, "map has no entry for key \"" + name + "\"");
      value = found == value->end() ? no_value() : part_of(value, *found);
    }
    return value;
  }

  using Variables = std::vector<std::pair<std::string, Value>>;

  const Trees& trees_;
  const Options options_;
  Variables variables_;
  std::string out_;
  size_t steps_ = 0;
  size_t depth_ = 0;
};

}  // namespace

Result<Template> Template::parse(std::string_view text, const Syntax& syntax) {
  DROVER_TRY(Trees trees, parse_trees(text, syntax));
  return Template(std::make_shared<const Trees>(std::move(trees)));
}

Result<std::string> Template::run(const json& object, const Options& options) const {
  return Runner(*trees_, part_of(nullptr, object), options).run();
}

}  // namespace drover::text_template
