#include "decode.h"

#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>

#include "drover/duration.h"
#include "drover/nearest.h"
#include "grammar.h"

namespace drover::jobspec {
namespace {

using nlohmann::json;

json json_of(const hcl::Value& value) { return json::parse(hcl::to_json(value), nullptr, false); }

class Decoder {
 public:
  explicit Decoder(hcl::Diagnostics& diagnostics) : diagnostics_(diagnostics) {}

  json block(const hcl::NodeBlock& block, const BlockRule& rule) {
    file_ = block.body.file;
    json out = json::object();
    label(block, rule, out);
    if (rule.shape == Shape::free_form || is_carried(rule)) {
      out.update(free_form(block.body));
      return out;
    }
    if (rule.shape == Shape::map) return text_map(block.body);
    attributes(block.body, rule, out);
    blocks(block.body, rule, out);
    if (rule.name == "constraint" || rule.name == "affinity") expand_shorthand(out);
    if (rule.name == "network") split_ports(out);
    return out;
  }

 private:
  // A rule that names nothing inside: the block is taken as it stands.
  static bool is_carried(const BlockRule& rule) {
    return rule.attributes.empty() && rule.blocks.empty() && (rule.shape == Shape::list || rule.shape == Shape::object);
  }

  void error(hcl::Range range, std::string text, std::string hint = {}) {
    diagnostics_.error(file_, range, std::move(text), std::move(hint));
  }

  void label(const hcl::NodeBlock& block, const BlockRule& rule, json& out) {
    const size_t wanted = rule.label.empty() ? 0 : 1;
    // A spread's target and a device may be written with or without a label in older files.
    const bool optional = rule.name == "target" || rule.name == "scaling";
    if (block.labels.size() != wanted && !(optional && block.labels.empty())) {
      error(block.range, "block \"" + std::string(rule.name) + "\" takes " + (wanted ? "one label" : "no label"),
            wanted ? std::string(rule.name) + " \"name\" { … }" : "");
      return;
    }
    if (!block.labels.empty()) out[std::string(rule.label)] = block.labels.front();
  }

  void attributes(const hcl::Node& body, const BlockRule& rule, json& out) {
    for (const auto& [name, attribute] : body.attributes) {
      auto known = std::ranges::find(rule.attributes, name, &AttributeRule::name);
      if (known != rule.attributes.end()) {
        set(out, std::string(known->json), attribute, known->form, name);
        continue;
      }
      // A block that holds only texts may also be written as an attribute: meta = { … }.
      auto as_block = std::ranges::find(rule.blocks, name, &BlockRule::name);
      if (as_block != rule.blocks.end() && (as_block->shape == Shape::map || as_block->shape == Shape::free_form)) {
        set(out, std::string(as_block->json), attribute, as_block->shape == Shape::map ? Form::text_map : Form::any,
            name);
        continue;
      }
      unknown("argument", name, attribute.name_range, rule);
    }
  }

  void unknown(std::string_view what, const std::string& name, hcl::Range range, const BlockRule& rule) {
    std::vector<std::string_view> names;
    for (const AttributeRule& a : rule.attributes) names.push_back(a.name);
    for (const BlockRule& b : rule.blocks) names.push_back(b.name);
    error(range, "unknown " + std::string(what) + " \"" + name + "\" in block \"" + std::string(rule.name) + "\"",
          nearest_hint(name, names));
  }

  void blocks(const hcl::Node& body, const BlockRule& rule, json& out) {
    for (const hcl::NodeBlock& child : body.blocks) {
      auto known = std::ranges::find(rule.blocks, child.type, &BlockRule::name);
      if (known == rule.blocks.end()) {
        unknown("block", child.type, child.range, rule);
        continue;
      }
      json value = block(child, *known);
      const std::string key(known->json);
      switch (known->shape) {
        case Shape::list:
          out[key].push_back(std::move(value));
          break;
        case Shape::by_label:
          out[key][child.labels.empty() ? "" : child.labels.front()] = std::move(value);
          break;
        case Shape::map:
          if (!out.contains(key)) out[key] = json::object();
          out[key].update(value);
          break;
        default:
          if (out.contains(key)) error(child.range, "block \"" + child.type + "\" stands here twice");
          out[key] = std::move(value);
          break;
      }
    }
  }

  void set(json& out, const std::string& key, const hcl::NodeAttribute& attribute, Form form, const std::string& name) {
    const hcl::Value& value = attribute.value;
    if (value.is_null()) return;
    const auto wrong = [&](std::string_view wanted) {
      error(attribute.range,
            "\"" + name + "\" must be " + std::string(wanted) + ", not a " + std::string(hcl::to_string(value.kind())));
    };
    switch (form) {
      case Form::text:
        if (auto as = hcl::as_string(value)) {
          out[key] = *as;
        } else {
          wrong("a text");
        }
        break;
      case Form::integer:
        if (auto as = hcl::as_integer(value)) {
          out[key] = *as;
        } else {
          wrong("a whole number");
        }
        break;
      case Form::boolean:
        if (auto as = hcl::as_boolean(value)) {
          out[key] = *as;
        } else {
          wrong("true or false");
        }
        break;
      case Form::duration:
        if (value.is_number()) {
          if (auto as = hcl::as_integer(value)) out[key] = *as;
        } else if (value.is_string()) {
          auto parsed = parse_duration(value.string());
          if (parsed) {
            out[key] = parsed->count();
          } else {
            error(attribute.range, "\"" + name + "\": " + parsed.status().message());
          }
        } else {
          wrong("a duration such as \"30s\"");
        }
        break;
      case Form::text_list:
        if (!value.is_list()) return wrong("a list of texts");
        out[key] = json::array();
        for (const hcl::Value& item : value.list()) {
          auto as = hcl::as_string(item);
          if (!as) return wrong("a list of texts");
          out[key].push_back(*as);
        }
        break;
      case Form::text_map:
        if (!value.is_object()) return wrong("a map of texts");
        for (const auto& [k, item] : value.object()) {
          auto as = hcl::as_string(item);
          if (!as) return wrong("a map of texts");
          out[key][k] = *as;
        }
        break;
      case Form::any:
        out[key] = json_of(value);
        break;
    }
  }

  json text_map(const hcl::Node& body) {
    json out = json::object();
    for (const auto& [name, attribute] : body.attributes) {
      if (auto as = hcl::as_string(attribute.value)) {
        out[name] = *as;
      } else {
        error(attribute.range,
              "\"" + name + "\" must be a text, not a " + std::string(hcl::to_string(attribute.value.kind())));
      }
    }
    for (const hcl::NodeBlock& child : body.blocks)
      error(child.range, "only arguments may stand here, not the block \"" + child.type + "\"");
    return out;
  }

  // Blocks of one name become a list of objects, each under its labels.
  json free_form(const hcl::Node& body) {
    json out = json::object();
    for (const auto& [name, attribute] : body.attributes) out[name] = json_of(attribute.value);
    for (const hcl::NodeBlock& child : body.blocks) {
      json value = free_form(child.body);
      for (auto l = child.labels.rbegin(); l != child.labels.rend(); ++l) value = json{{*l, std::move(value)}};
      out[child.type].push_back(std::move(value));
    }
    return out;
  }

  // constraint { distinct_hosts = true } and its like.
  static void expand_shorthand(json& out) {
    static constexpr std::array<std::string_view, 6> kComparing = {
        "regexp", "version", "semver", "set_contains", "set_contains_all", "set_contains_any"};
    for (std::string_view word : kComparing) {
      if (auto at = out.find(word); at != out.end()) {
        out["Operand"] = word;
        out["RTarget"] = *at;
        out.erase(std::string(word));
      }
    }
    if (auto at = out.find("distinct_hosts"); at != out.end()) {
      out["Operand"] = "distinct_hosts";
      if (!at->get<bool>()) out["RTarget"] = "false";
      out.erase("distinct_hosts");
    }
    if (auto at = out.find("distinct_property"); at != out.end()) {
      out["Operand"] = "distinct_property";
      out["LTarget"] = *at;
      if (auto value = out.find("value"); value != out.end()) out["RTarget"] = *value;
      out.erase("distinct_property");
    }
    for (const char* word : {"is_set", "is_not_set"}) {
      if (auto at = out.find(word); at != out.end()) {
        out["Operand"] = word;
        out["LTarget"] = *at;
        out.erase(word);
      }
    }
  }

  static void split_ports(json& out) {
    auto at = out.find("ports");
    if (at == out.end()) return;
    for (const json& port : *at) out[port.contains("Value") ? "ReservedPorts" : "DynamicPorts"].push_back(port);
    out.erase("ports");
  }

  hcl::Diagnostics& diagnostics_;
  std::string file_;
};

}  // namespace

json decode_job(const hcl::NodeBlock& job, hcl::Diagnostics& diagnostics) {
  Decoder decoder(diagnostics);
  json out = decoder.block(job, job_rule());
  // A task at job level is a group of its own name with one instance.
  if (auto tasks = out.find("Tasks"); tasks != out.end()) {
    for (json& task : *tasks) {
      const json name = task["Name"];
      out["TaskGroups"].push_back({{"Name", name}, {"Count", 1}, {"Tasks", json::array({std::move(task)})}});
    }
    out.erase("Tasks");
  }
  if (!out.contains("Name")) out["Name"] = out.value("ID", "");
  return out;
}

}  // namespace drover::jobspec
