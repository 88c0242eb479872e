// Checks configuration against its schema and brings it into the declared form.
#include <algorithm>
#include <iterator>
#include <utility>

#include "config_value.h"
#include "drover/config.h"
#include "drover/duration.h"
#include "drover/nearest.h"

namespace drover {
namespace {

using hcl::Value;
using Options = std::vector<ConfigOption>;

bool is_block(ConfigType type) {
  return type == ConfigType::block || type == ConfigType::labelled_block || type == ConfigType::repeated_block;
}

std::string quoted(std::string_view text) { return "\"" + std::string(text) + "\""; }

// An object that came as a value, as elements of lists do.
ConfigBlock block_from(const std::string& name, const Value& value, const ConfigPlace& place) {
  ConfigBlock block;
  block.name = name;
  block.place = place;
  for (const auto& [key, element] : value.object()) {
    if (element.is_object())
      block.blocks.push_back(block_from(key, element, place));
    else
      block.attributes[key] = {element, place};
  }
  return block;
}

Value value_from(const ConfigBlock& block) {
  hcl::Object object;
  for (const auto& [key, attribute] : block.attributes) object.insert_or_assign(key, attribute.value);
  for (const ConfigBlock& inner : block.blocks) object.insert_or_assign(inner.name, value_from(inner));
  return object;
}

class Checker {
 public:
  ConfigBlock apply(const ConfigBlock& block, const Options& options, const std::string& where) {
    ConfigBlock result;
    result.name = block.name;
    result.labels = block.labels;
    result.place = block.place;
    std::map<std::string, std::vector<ConfigBlock>, std::less<>> found;  // blocks by option
    for (const auto& [name, attribute] : block.attributes) {
      const ConfigOption* option = known(options, name, attribute.place, where);
      if (!option) continue;
      if (is_block(option->type))
        take_objects(*option, attribute, found[name], where);
      else
        set(result, *option, attribute, where);
    }
    for (const ConfigBlock& inner : block.blocks) {
      const ConfigOption* option = known(options, inner.name, inner.place, where);
      if (option) take_block(*option, inner, result, found[inner.name], where);
    }
    for (const ConfigOption& option : options) {
      if (is_block(option.type))
        finish_blocks(option, found[option.name], result, where);
      else
        finish_value(option, result, where);
    }
    return result;
  }

  ConfigBlock label(ConfigBlock block, const std::string& name) {
    const ConfigOption option{.name = name, .type = ConfigType::labelled_block};
    std::vector<ConfigBlock> labelled;
    if (auto attribute = block.attributes.extract(name)) take_objects(option, attribute.mapped(), labelled, "");
    for (const ConfigBlock& inner : std::exchange(block.blocks, {})) {
      if (inner.name == name)
        take_labels(option, inner, labelled, "");
      else
        block.blocks.push_back(inner);
    }
    std::ranges::move(labelled, std::back_inserter(block.blocks));
    return block;
  }

  Status status() const {
    std::string text;
    for (const std::string& problem : problems_) text += (text.empty() ? "" : "\n") + problem;
    return problems_.empty() ? ok_status() : invalid_argument(std::move(text));
  }

 private:
  void problem(const ConfigPlace& place, std::string text) {
    std::string at = place.to_string();
    problems_.push_back(at.empty() ? std::move(text) : at + ": " + std::move(text));
  }

  const ConfigOption* known(const Options& options, const std::string& name, const ConfigPlace& place,
                            const std::string& where) {
    auto found = std::ranges::find(options, name, &ConfigOption::name);
    if (found != options.end()) return &*found;
    std::vector<std::string_view> names;
    for (const ConfigOption& option : options) names.push_back(option.name);
    std::string hint = nearest_hint(name, names);
    problem(place, "unknown option " + quoted(name) + where + (hint.empty() ? "" : "; " + hint));
    return nullptr;
  }

  void set(ConfigBlock& result, const ConfigOption& option, const ConfigAttribute& attribute,
           const std::string& where) {
    if (attribute.value.is_null()) return;
    std::optional<Value> value = convert_config_value(option.type, attribute.value);
    if (!value) {
      std::string given = hcl::to_json(attribute.value);
      if (given.size() > 80) given = given.substr(0, 77) + "...";
      return problem(attribute.place, "option " + quoted(option.name) + where + " must be a " +
                                          std::string(to_string(option.type)) +
                                          (option.is_secret ? "" : ", not " + given));
    }
    if (!is_allowed(option, *value, attribute.place, where)) return;
    if (!option.refusal.empty() && (!value->is_boolean() || value->boolean()))
      return problem(attribute.place, "option " + quoted(option.name) + where + ": " + option.refusal);
    if (option.type == ConfigType::string_map) {  // several blocks of one map add up
      auto before = result.attributes.find(option.name);
      if (before != result.attributes.end()) {
        hcl::Object merged = before->second.value.object();
        for (const auto& [key, element] : value->object()) merged.insert_or_assign(key, element);
        value = Value(std::move(merged));
      }
    }
    result.attributes[option.name] = {*std::move(value), attribute.place};
  }

  bool is_allowed(const ConfigOption& option, const Value& value, const ConfigPlace& place, const std::string& where) {
    std::string name = "option " + quoted(option.name) + where;
    if (!option.one_of.empty() && value.is_string() &&
        std::ranges::find(option.one_of, value.string()) == option.one_of.end()) {
      std::string list;
      for (const std::string& choice : option.one_of) list += (list.empty() ? "" : ", ") + quoted(choice);
      std::vector<std::string_view> choices(option.one_of.begin(), option.one_of.end());
      std::string hint = nearest_hint(value.string(), choices);
      problem(place,
              name + " must be one of " + list + ", not " + quoted(value.string()) + (hint.empty() ? "" : "; " + hint));
      return false;
    }
    if (!value.is_number() || (!option.min && !option.max)) return true;
    bool is_duration = option.type == ConfigType::duration;
    auto text = [&](double bound) {
      auto nanoseconds = static_cast<int64_t>(bound * 1e9);
      return is_duration ? format_duration(std::chrono::nanoseconds(nanoseconds))
                         : hcl::Number::real(bound).value_or(hcl::Number()).to_string();
    };
    double number = value.number().as_double() / (is_duration ? 1e9 : 1);
    if (option.min && number < *option.min) {
      problem(place, name + " must be at least " + text(*option.min) + ", not " + text(number));
    } else if (option.max && number > *option.max) {
      problem(place, name + " must be at most " + text(*option.max) + ", not " + text(number));
    } else {
      return true;
    }
    return false;
  }

  void take_objects(const ConfigOption& option, const ConfigAttribute& attribute, std::vector<ConfigBlock>& into,
                    const std::string& where) {
    hcl::List list = attribute.value.is_list() ? attribute.value.list() : hcl::List{attribute.value};
    for (const Value& value : list) {
      if (value.is_null()) continue;
      if (!value.is_object()) {
        return problem(attribute.place,
                       "option " + quoted(option.name) + where + " must be a " + std::string(to_string(option.type)));
      }
      take_labels(option, block_from(option.name, value, attribute.place), into, where);
    }
  }

  void take_block(const ConfigOption& option, const ConfigBlock& inner, ConfigBlock& result,
                  std::vector<ConfigBlock>& into, const std::string& where) {
    if (is_block(option.type)) return take_labels(option, inner, into, where);
    if (option.type == ConfigType::any) {
      auto same = std::ranges::find_if(result.blocks, [&](const ConfigBlock& known) {
        return known.name == inner.name && known.labels == inner.labels;
      });
      if (same == result.blocks.end())
        result.blocks.push_back(inner);
      else
        *same = merge(std::move(*same), inner);
    } else if (option.type == ConfigType::string_map && inner.labels.empty()) {
      set(result, option, {value_from(inner), inner.place}, where);
    } else {
      problem(inner.place, "option " + quoted(option.name) + where + " is a " + std::string(to_string(option.type)) +
                               ", not a block; write " + option.name + " = …");
    }
  }

  // In JSON, and in objects, the labels are the names of what is inside.
  void take_labels(const ConfigOption& option, const ConfigBlock& inner, std::vector<ConfigBlock>& into,
                   const std::string& where) {
    size_t expected = option.type == ConfigType::labelled_block ? 1 : 0;
    bool holds_labels = expected == 1 && inner.labels.empty() && inner.attributes.empty() && !inner.blocks.empty();
    if (holds_labels) {
      for (ConfigBlock labelled : inner.blocks) {
        labelled.labels.insert(labelled.labels.begin(), std::exchange(labelled.name, option.name));
        take_labels(option, labelled, into, where);
      }
    } else if (inner.labels.size() != expected) {
      problem(inner.place,
              "block " + quoted(option.name) + where +
                  (expected == 1 ? " needs one label, as in " + option.name + " \"name\" { … }" : " takes no label"));
    } else {
      into.push_back(inner);
    }
  }

  void finish_blocks(const ConfigOption& option, std::vector<ConfigBlock>& found, ConfigBlock& result,
                     const std::string& where) {
    if (found.empty()) {
      if (option.required)
        problem(result.place, "block " + quoted(option.name) + where + " is missing");
      else if (option.type == ConfigType::block)
        add_defaults(option, result);
      return;
    }
    std::vector<ConfigBlock> merged;
    for (ConfigBlock& block : found) {
      auto same = std::ranges::find(merged, block.labels, &ConfigBlock::labels);
      if (option.type == ConfigType::repeated_block || same == merged.end())
        merged.push_back(std::move(block));
      else
        *same = merge(std::move(*same), block);
    }
    for (const ConfigBlock& block : merged) {
      std::string label = block.labels.empty() ? "" : " " + quoted(block.labels[0]);
      result.blocks.push_back(apply(block, option.options, " in block " + quoted(option.name) + label));
    }
  }

  // A block that is not written still has the defaults of its options; its place has no line.
  void add_defaults(const ConfigOption& option, ConfigBlock& result) {
    ConfigBlock empty;
    empty.name = option.name;
    Checker checker;
    ConfigBlock block = checker.apply(empty, option.options, "");
    if (checker.problems_.empty()) result.blocks.push_back(std::move(block));
  }

  void finish_value(const ConfigOption& option, ConfigBlock& result, const std::string& where) {
    if (result.attributes.contains(option.name) || result.block(option.name)) return;
    if (!option.default_text.empty()) {
      std::optional<Value> value = convert_config_value(option.type, default_value(option));
      // The schema is ours, so a default of the wrong type is our mistake.
      DROVER_CHECK(value.has_value());
      result.attributes[option.name] = {*std::move(value), {}};
    } else if (option.required && !was_reported(option.name, where)) {
      problem(result.place, "option " + quoted(option.name) + where + " is missing");
    }
  }

  // A required option that is there with a bad value has been reported already.
  bool was_reported(const std::string& name, const std::string& where) const {
    std::string text = "option " + quoted(name) + where + " must be";
    return std::ranges::any_of(problems_, [&](const std::string& p) { return p.find(text) != std::string::npos; });
  }

  // "a, b" for lists.
  static Value default_value(const ConfigOption& option) {
    if (option.type != ConfigType::string_list) return option.default_text;
    hcl::List list;
    std::string_view rest = option.default_text;
    while (!rest.empty()) {
      std::string_view part = rest.substr(0, rest.find(','));
      rest.remove_prefix(std::min(rest.size(), part.size() + 1));
      while (part.starts_with(' ')) part.remove_prefix(1);
      list.push_back(part);
    }
    return list;
  }

  std::vector<std::string> problems_;
};

}  // namespace

Result<ConfigBlock> apply_schema(const ConfigBlock& block, const ConfigSchema& schema) {
  Checker checker;
  ConfigBlock result = checker.apply(block, schema.options, "");
  DROVER_RETURN_IF_ERROR(checker.status());
  return result;
}

Result<ConfigBlock> label_blocks(ConfigBlock block, const std::string& name) {
  Checker checker;
  ConfigBlock result = checker.label(std::move(block), name);
  DROVER_RETURN_IF_ERROR(checker.status());
  return result;
}

Status check_schema(const ConfigBlock& block, const ConfigSchema& schema) {
  return apply_schema(block, schema).status();
}

}  // namespace drover
