#include "drover/hclspec.h"

#include <algorithm>
#include <cmath>
#include <set>

#include "drover/hcl.h"
#include "drover/hcl_type.h"
#include "drover/nearest.h"
#include "nomad/plugins/hclspec.pb.h"

namespace drover::hclspec {
namespace {

using hcl::Kind;
using hcl::Value;

// ---- schema ----

Result<hcl::Type> read_type(const std::string& text) {
  hcl::Diagnostics diagnostics;
  const hcl::Expression expression = hcl::parse_expression("type", text, diagnostics);
  std::optional<hcl::Type> type;
  if (!diagnostics.has_errors()) type = hcl::parse_type(expression, diagnostics);
  if (!type) return invalid_argument("\"" + text + "\" is not a type");
  return *std::move(type);
}

Result<Value> read_literal(const std::string& text) {
  // The protocol lets a schema call only these functions.
  static const hcl::EvalContext context = [] {
    hcl::EvalContext made;
    for (const char* name : {"abs", "coalesce", "concat", "jsondecode", "jsonencode", "length", "lower", "max", "min",
                             "reverse", "strlen", "substr", "upper"}) {
      if (auto found = hcl::standard_functions().find(name); found != hcl::standard_functions().end())
        made.functions.insert(*found);
    }
    made.functions["int"] = hcl::Function([](std::span<const Value> arguments) -> Result<Value> {
      const auto number = arguments.size() == 1 ? hcl::as_number(arguments[0]) : std::nullopt;
      if (!number) return invalid_argument("int takes one number");
      return Value(number->as_integer() ? *number : *hcl::Number::real(std::trunc(number->as_double())));
    });
    made.functions["hasindex"] = hcl::Function([](std::span<const Value> arguments) -> Result<Value> {
      if (arguments.size() != 2) return invalid_argument("hasindex takes a collection and a key");
      const auto at = hcl::as_integer(arguments[1]);
      if (arguments[0].is_list()) return Value(at && *at >= 0 && static_cast<size_t>(*at) < arguments[0].list().size());
      return Value(arguments[1].is_string() && arguments[0].find(arguments[1].string()) != nullptr);
    });
    return made;
  }();
  hcl::Diagnostics diagnostics;
  const hcl::Expression expression = hcl::parse_expression("literal", text, diagnostics);
  Value value;
  if (!diagnostics.has_errors()) value = hcl::evaluate(expression, context, diagnostics);
  if (diagnostics.has_errors()) return invalid_argument("\"" + text + "\": " + diagnostics[0].message);
  return value;
}

// Calls `visit` with the parts directly inside and the step that leads there.
template <typename Visit>
void for_each_part(const Spec& spec, Visit&& visit) {
  switch (spec.block_case()) {
    case Spec::kObject:
      for (const auto& [name, part] : spec.object().attributes()) visit(part, name);
      break;
    case Spec::kArray:
      for (const Spec& part : spec.array().values()) visit(part, std::string("array"));
      break;
    case Spec::kBlockValue:
      visit(spec.block_value().nested(), spec.block_value().name());
      break;
    case Spec::kBlockList:
      visit(spec.block_list().nested(), spec.block_list().name());
      break;
    case Spec::kBlockSet:
      visit(spec.block_set().nested(), spec.block_set().name());
      break;
    case Spec::kBlockMap:
      visit(spec.block_map().nested(), spec.block_map().name());
      break;
    case Spec::kDefault:
      visit(spec.default_().primary(), std::string("default"));
      visit(spec.default_().default_(), std::string("default"));
      break;
    default:
      break;
  }
}

Status check(const Spec& spec, const std::string& path, size_t depth) {
  const auto refuse = [&](const std::string& what) { return invalid_argument("schema: " + path + ": " + what); };
  if (depth > kMaxDepth) return refuse("deeper than " + std::to_string(kMaxDepth));
  switch (spec.block_case()) {
    case Spec::BLOCK_NOT_SET:
      return refuse("an empty part");
    case Spec::kAttr:
      if (auto type = read_type(spec.attr().type()); !type) return refuse(type.status().message());
      break;
    case Spec::kBlockAttrs:
      if (auto type = read_type(spec.block_attrs().type()); !type) return refuse(type.status().message());
      break;
    case Spec::kLiteral:
      if (auto value = read_literal(spec.literal().value()); !value) return refuse(value.status().message());
      break;
    case Spec::kBlockMap:
      if (spec.block_map().labels().empty()) return refuse("a map of blocks without labels");
      break;
    default:
      break;
  }
  Status status;
  for_each_part(spec, [&](const Spec& part, const std::string& step) {
    if (status.ok()) status = check(part, path + "." + step, depth + 1);
  });
  return status;
}

// The names that a body with this schema may have.
void names_of(const Spec& spec, std::set<std::string, std::less<>>& names) {
  switch (spec.block_case()) {
    case Spec::kAttr:
      names.insert(spec.attr().name());
      break;
    case Spec::kBlockValue:
      names.insert(spec.block_value().name());
      break;
    case Spec::kBlockAttrs:
      names.insert(spec.block_attrs().name());
      break;
    case Spec::kBlockList:
      names.insert(spec.block_list().name());
      break;
    case Spec::kBlockSet:
      names.insert(spec.block_set().name());
      break;
    case Spec::kBlockMap:
      names.insert(spec.block_map().name());
      break;
    default:  // they look at the same body
      for_each_part(spec, [&](const Spec& part, const std::string&) { names_of(part, names); });
  }
}

// ---- configuration ----

class Decoder {
 public:
  Value body(const Spec& spec, const Value& config, const std::string& path) {
    if (!config.is_object()) return fail(path, "must be a block");
    std::set<std::string, std::less<>> names;
    names_of(spec, names);
    const std::vector<std::string_view> candidates(names.begin(), names.end());
    for (const auto& [name, value] : config.object()) {
      if (names.contains(name)) continue;
      const std::string hint = nearest_hint(name, candidates);
      fail(join(path, name), "Invalid label: no argument or block of this name is expected" +
                                 (hint.empty() ? std::string() : "; " + hint));
    }
    return part(spec, config.object(), path);
  }

  Status status() const {
    std::string text;
    for (const std::string& problem : problems_) text += (text.empty() ? "" : "\n") + problem;
    return problems_.empty() ? ok_status() : invalid_argument(text);
  }

 private:
  static std::string join(const std::string& path, const std::string& step) {
    return path.empty() ? step : path + "." + step;
  }

  Value fail(const std::string& path, const std::string& what) {
    if (problems_.size() < hcl::kMaxDiagnostics) problems_.push_back((path.empty() ? "config" : path) + ": " + what);
    return {};
  }

  static Value written(const hcl::Object& config, const std::string& name) {
    const auto found = config.find(name);
    return found == config.end() ? Value() : found->second;
  }

  // The bodies of a block that may be repeated; nothing of it is a list of none.
  hcl::List bodies(const hcl::Object& config, const std::string& name) {
    const Value value = written(config, name);
    if (value.is_null()) return {};
    return value.is_list() ? value.list() : hcl::List{value};
  }

  Value part(const Spec& spec, const hcl::Object& config, const std::string& path) {
    switch (spec.block_case()) {
      case Spec::kObject: {
        hcl::Object out;
        for (const auto& [name, inner] : spec.object().attributes()) out[name] = part(inner, config, path);
        return out;
      }
      case Spec::kArray: {
        hcl::List out;
        for (const Spec& inner : spec.array().values()) out.push_back(part(inner, config, path));
        return out;
      }
      case Spec::kAttr:
        return attribute(spec.attr().name(), spec.attr().type(), spec.attr().required(), config, path);
      case Spec::kBlockValue:
        return single(spec, config, path);
      case Spec::kBlockAttrs:
        return attributes(spec, config, path);
      case Spec::kBlockList:
        return several(spec.block_list(), config, path);
      case Spec::kBlockSet:
        return set(spec, config, path);
      case Spec::kBlockMap: {
        const auto& map = spec.block_map();
        const Value value = written(config, map.name());
        return value.is_null() ? Value(hcl::Object()) : labelled(map, value, 0, join(path, map.name()));
      }
      case Spec::kDefault: {
        Value value = part(spec.default_().primary(), config, path);
        return value.is_null() ? part(spec.default_().default_(), config, path) : value;
      }
      case Spec::kLiteral:
        return *read_literal(spec.literal().value());  // check() has read it
      default:
        return {};
    }
  }

  Value attribute(const std::string& name, const std::string& type, bool is_required, const hcl::Object& config,
                  const std::string& path) {
    const Value value = written(config, name);
    if (value.is_null()) {
      if (is_required) fail(join(path, name), "Missing required argument");
      return {};
    }
    auto converted = hcl::convert(value, *read_type(type));
    if (!converted) return fail(join(path, name), converted.status().message());
    return *std::move(converted);
  }

  Value single(const Spec& spec, const hcl::Object& config, const std::string& path) {
    const auto& block = spec.block_value();
    const hcl::List found = bodies(config, block.name());
    const std::string here = join(path, block.name());
    if (found.size() > 1) return fail(here, "only one such block is expected");
    if (!found.empty()) return body(block.nested(), found[0], here);
    if (block.required()) fail(here, "this block is required");
    return {};
  }

  Value attributes(const Spec& spec, const hcl::Object& config, const std::string& path) {
    const auto& block = spec.block_attrs();
    const hcl::List found = bodies(config, block.name());
    const std::string here = join(path, block.name());
    if (found.empty()) {
      if (block.required()) fail(here, "this block is required");
      return {};
    }
    if (found.size() > 1 || !found[0].is_object()) return fail(here, "only one such block is expected");
    const hcl::Type type = *read_type(block.type());
    hcl::Object out;
    for (const auto& [name, value] : found[0].object()) {
      auto converted = hcl::convert(value, type);
      if (converted) {
        out[name] = *std::move(converted);
      } else {
        fail(join(here, name), converted.status().message());
      }
    }
    return out;
  }

  template <typename Blocks>
  Value several(const Blocks& blocks, const hcl::Object& config, const std::string& path) {
    const hcl::List found = bodies(config, blocks.name());
    const std::string here = join(path, blocks.name());
    if (found.size() < blocks.min_items()) {
      return fail(here, "at least " + std::to_string(blocks.min_items()) + " such blocks are required");
    }
    if (blocks.max_items() != 0 && found.size() > blocks.max_items()) {
      return fail(here, "no more than " + std::to_string(blocks.max_items()) + " such blocks are allowed");
    }
    hcl::List out;
    for (size_t i = 0; i < found.size(); ++i)
      out.push_back(body(blocks.nested(), found[i], here + "[" + std::to_string(i) + "]"));
    return out;
  }

  Value set(const Spec& spec, const hcl::Object& config, const std::string& path) {
    const Value all = several(spec.block_set(), config, path);
    if (!all.is_list()) return all;
    std::map<std::string, Value> by_text;
    for (const Value& one : all.list()) by_text[hcl::to_json(one)] = one;
    hcl::List out;
    for (auto& [text, one] : by_text) out.push_back(one);
    return out;
  }

  // One level of objects for each label; a label's blocks may stand in a list.
  template <typename Map>
  Value labelled(const Map& map, const Value& value, int label, const std::string& path) {
    if (label == map.labels_size()) {
      if (!value.is_list()) return body(map.nested(), value, path);
      if (value.list().size() != 1) return fail(path, "only one block with these labels is expected");
      return body(map.nested(), value.list()[0], path);
    }
    hcl::Object out;
    for (const Value& one : value.is_list() ? value.list() : hcl::List{value}) {
      if (!one.is_object()) return fail(path, "must be a block with the label \"" + map.labels(label) + "\"");
      for (const auto& [name, inner] : one.object()) {
        if (out.contains(name)) return fail(join(path, name), "a second block with this label");
        out[name] = labelled(map, inner, label + 1, join(path, name));
      }
    }
    return out;
  }

  std::vector<std::string> problems_;
};

}  // namespace

Status check(const Spec& spec) { return check(spec, "config", 0); }

Result<Value> decode(const Spec& spec, const Value& config) {
  Decoder decoder;
  Value value = decoder.body(spec, config.is_null() ? Value(hcl::Object()) : config, "");
  DROVER_RETURN_IF_ERROR(decoder.status());
  return value;
}

}  // namespace drover::hclspec
