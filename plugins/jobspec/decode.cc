#include "decode.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>

#include "drover/duration.h"
#include "drover/nearest.h"
#include "grammar.h"

namespace drover::jobspec {
namespace {

using nlohmann::json;

constexpr size_t kMaxShown = 40;  // digits of a number in a message

class Decoder {
 public:
  Decoder(Syntax syntax, hcl::Diagnostics& diagnostics) : syntax_(syntax), diagnostics_(diagnostics) {}

  json block(const hcl::NodeBlock& block, const BlockRule& rule) {
    file_ = block.body.file;
    json out = json::object();
    label(block, rule, out);
    if (rule.shape == Shape::free_form) {
      out.update(without_nulls(free_form(block.body)));
      return out;
    }
    if (rule.shape == Shape::map) return text_map(block.body);
    if (rule.shape == Shape::list_map) return list_map(block.body);
    attributes(block.body, rule, out);
    blocks(block.body, rule, out);
    if (rule.name == "constraint" || rule.name == "affinity") expand_shorthand(out);
    if (rule.name == "network") split_ports(out);
    if (rule.name == "logs") invert_enabled(out);
    if (rule.name == "task") split_identities(out);
    if (rule.name == "task") check_policies(block.body);
    if (rule.name == "scaling") scaling_type(block, rule, out);
    if (rule.name == "template") template_defaults(out);
    if (rule.name == "vault") vault_defaults(out);
    return out;
  }

 private:
  void error(hcl::Range range, std::string text, std::string hint = {}) {
    diagnostics_.error(file_, range, std::move(text), std::move(hint));
  }

  void label(const hcl::NodeBlock& block, const BlockRule& rule, json& out) {
    const size_t wanted = rule.label.empty() ? 0 : 1;
    if (block.labels.size() != wanted && !(rule.label_is_optional && block.labels.empty())) {
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
      if (as_block != rule.blocks.end() && form_of(as_block->shape)) {
        if (as_block->shape == Shape::free_form && syntax_ == Syntax::native) {
          error(attribute.range, "\"" + name + "\" is a block, not an argument", name + " { … }");
          continue;
        }
        set(out, std::string(as_block->json), attribute, *form_of(as_block->shape), name);
        continue;
      }
      unknown("argument", name, attribute.name_range, rule);
    }
  }

  // The form of a block that may also be written as an attribute.
  static std::optional<Form> form_of(Shape shape) {
    if (shape == Shape::map) return Form::text_map;
    if (shape == Shape::list_map) return Form::text_list_map;
    if (shape == Shape::free_form) return Form::any_object;
    return std::nullopt;
  }

  void unknown(std::string_view what, const std::string& name, hcl::Range range, const BlockRule& rule) {
    std::vector<std::string_view> names;
    for (const AttributeRule& a : rule.attributes) names.push_back(a.name);
    for (const BlockRule& b : rule.blocks) names.push_back(b.name);
    error(range, "unknown " + std::string(what) + " \"" + name + "\" in block \"" + std::string(rule.name) + "\"",
          nearest_hint(name, names));
  }

  // A name is an argument or a block: the two cannot be told apart in the result.
  bool stands_once(const hcl::Node& body, const hcl::NodeBlock& child) {
    auto argument = body.attributes.find(child.type);
    if (argument == body.attributes.end()) return true;
    error(child.range, "block \"" + child.type + "\" stands here as an argument as well",
          "the argument is on line " + std::to_string(argument->second.name_range.start.line));
    return false;
  }

  void blocks(const hcl::Node& body, const BlockRule& rule, json& out) {
    for (const hcl::NodeBlock& child : body.blocks) {
      auto known = std::ranges::find(rule.blocks, child.type, &BlockRule::name);
      if (known == rule.blocks.end()) {
        unknown("block", child.type, child.range, rule);
        continue;
      }
      if (!stands_once(body, child)) continue;
      json value = block(child, *known);
      const std::string key(known->json);
      switch (known->shape) {
        case Shape::list:
          out[key].push_back(std::move(value));
          break;
        case Shape::by_label:
          out[key][child.labels.empty() ? "" : child.labels.front()] = std::move(value);
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
    std::optional<json> decoded;
    std::string_view wanted;
    switch (form) {
      case Form::text:
        if (auto as = hcl::as_string(value)) decoded = *as;
        wanted = "a text";
        break;
      case Form::integer:
        if (auto as = hcl::as_integer(value)) decoded = *as;
        wanted = "a whole number of 64 bits";
        break;
      case Form::boolean:
        if (auto as = hcl::as_boolean(value)) decoded = *as;
        wanted = "true or false";
        break;
      case Form::duration:
        if (value.is_string()) return set_duration(out, key, attribute, name);
        if (auto as = hcl::as_integer(value)) decoded = *as;
        wanted = "a duration such as \"30s\"";
        break;
      case Form::text_list:
        decoded = text_list_of(value);
        wanted = "a list of texts";
        break;
      case Form::integer_list:
        decoded = list_of(value, [](const hcl::Value& item) { return hcl::as_integer(item); });
        wanted = "a list of whole numbers";
        break;
      case Form::text_map:
        decoded = map_of(value, [](const hcl::Value& item) { return hcl::as_string(item); });
        wanted = "a map of texts";
        break;
      case Form::text_list_map:
        decoded = map_of(value, text_list_of);
        wanted = "a map of lists of texts";
        break;
      case Form::any_object:
        if (const hcl::Value* body = as_body(value)) decoded = without_nulls(json_of(attribute, *body));
        wanted = "a block or an object";
        break;
    }
    if (decoded) {
      out[key] = *std::move(decoded);
      return;
    }
    const std::string found = value.is_number() ? value.number().to_string().substr(0, kMaxShown)
                                                : "a " + std::string(hcl::to_string(value.kind()));
    error(attribute.range, "\"" + name + "\" must be " + std::string(wanted) + ", not " + found);
  }

  void set_duration(json& out, const std::string& key, const hcl::NodeAttribute& attribute, const std::string& name) {
    if (auto parsed = parse_duration(attribute.value.string())) {
      out[key] = parsed->count();
    } else {
      error(attribute.range, "\"" + name + "\": " + parsed.status().message());
    }
  }

  template <typename Convert>
  static std::optional<json> list_of(const hcl::Value& value, Convert convert) {
    if (!value.is_list()) return std::nullopt;
    json out = json::array();
    for (const hcl::Value& item : value.list()) {
      auto as = convert(item);
      if (!as) return std::nullopt;
      out.push_back(*as);
    }
    return out;
  }

  json json_of(const hcl::NodeAttribute& attribute, const hcl::Value& value) {
    json read = json::parse(hcl::to_json(value), nullptr, false);
    if (!read.is_discarded()) return read;
    error(attribute.range, "this holds text that is not UTF-8");
    return {};
  }

  static std::optional<json> text_list_of(const hcl::Value& value) {
    return list_of(value, [](const hcl::Value& item) { return hcl::as_string(item); });
  }

  // The JSON syntax may write a block as a list of one object.
  static const hcl::Value* as_body(const hcl::Value& value) {
    if (value.is_object()) return &value;
    const bool holds_one = value.is_list() && value.list().size() == 1 && value.list().front().is_object();
    return holds_one ? &value.list().front() : nullptr;
  }

  template <typename Convert>
  static std::optional<json> map_of(const hcl::Value& value, Convert convert) {
    const hcl::Value* body = as_body(value);
    if (!body) return std::nullopt;
    json out = json::object();
    for (const auto& [key, item] : body->object()) {
      auto as = convert(item);
      if (!as) return std::nullopt;
      out[key] = *std::move(as);
    }
    return out;
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

  json list_map(const hcl::Node& body) {
    json out = json::object();
    for (const auto& [name, attribute] : body.attributes) {
      if (auto texts = text_list_of(attribute.value)) {
        out[name] = *std::move(texts);
      } else {
        error(attribute.range, "\"" + name + "\" must be a list of texts");
      }
    }
    for (const hcl::NodeBlock& child : body.blocks)
      error(child.range, "only arguments may stand here, not the block \"" + child.type + "\"");
    return out;
  }

  // Blocks of one name become a list of objects; each label is a list with one object around what it names.
  json free_form(const hcl::Node& body) {
    json out = json::object();
    for (const auto& [name, attribute] : body.attributes) out[name] = json_of(attribute, attribute.value);
    for (const hcl::NodeBlock& child : body.blocks) {
      if (!stands_once(body, child)) continue;
      json value = free_form(child.body);
      for (auto l = child.labels.rbegin(); l != child.labels.rend(); ++l)
        value = json{{*l, json::array({std::move(value)})}};
      out[child.type].push_back(std::move(value));
    }
    return out;
  }

  // An argument that is null is not set; what it holds may be null.
  static json without_nulls(json object) {
    for (auto at = object.begin(); at != object.end();) at = at->is_null() ? object.erase(at) : std::next(at);
    return object;
  }

  // constraint { distinct_hosts = true } and its like. Where several stand, the last of this order wins.
  static void expand_shorthand(json& out) {
    static constexpr std::array<std::string_view, 6> kComparing = {
        "version", "semver", "regexp", "set_contains_any", "set_contains_all", "set_contains"};
    for (std::string_view word : kComparing) {
      if (std::string value = take_text(out, word); !value.empty()) {
        out["Operand"] = word;
        out["RTarget"] = std::move(value);
      }
    }
    if (auto at = out.find("distinct_hosts"); at != out.end()) {
      out["Operand"] = "distinct_hosts";
      out["RTarget"] = at->get<bool>() ? "true" : "false";
      out.erase("distinct_hosts");
    }
    for (std::string_view word : {"distinct_property", "is_set", "is_not_set"}) {
      if (std::string attribute = take_text(out, word); !attribute.empty()) {
        out["Operand"] = word;
        out["LTarget"] = std::move(attribute);
      }
    }
    if (out.value("Operand", "").empty()) out["Operand"] = "=";
  }

  static std::string take_text(json& out, std::string_view name) {
    auto at = out.find(name);
    if (at == out.end()) return {};
    std::string text = at->get<std::string>();
    out.erase(at);
    return text;
  }

  static void split_ports(json& out) {
    auto at = out.find("ports");
    if (at == out.end()) return;
    for (const json& port : *at) {
      const bool is_static = port.value("Value", int64_t{0}) != 0;  // static = 0 means any
      out[is_static ? "ReservedPorts" : "DynamicPorts"].push_back(port);
    }
    out.erase("ports");
  }

  static void invert_enabled(json& out) {
    auto at = out.find("Enabled");
    if (at == out.end()) return;
    if (!out.contains("Disabled")) out["Disabled"] = !at->get<bool>();
    out.erase("Enabled");
  }

  // The one without a name, or with the name "default", is the task's own; the others are further ones.
  static void split_identities(json& out) {
    auto at = out.find("identities");
    if (at == out.end()) return;
    for (json& identity : *at) {
      const std::string name = identity.value("Name", "default");
      if (name == "default") {
        out["Identity"] = std::move(identity);
      } else {
        out["Identities"].push_back(std::move(identity));
      }
    }
    out.erase("identities");
  }

  // A task's policy is called after what it scales.
  static std::string scaled_by(const hcl::NodeBlock& policy) {
    std::string name = policy.labels.empty() ? "" : policy.labels.front();
    std::ranges::transform(name, name.begin(), [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
    return name;
  }

  void check_policies(const hcl::Node& task) {
    std::map<std::string, size_t> lines;
    for (const hcl::NodeBlock& policy : task.blocks) {
      if (policy.type != "scaling") continue;
      const auto [first, is_new] = lines.emplace(scaled_by(policy), policy.range.start.line);
      if (!is_new) {
        error(policy.range, "a task has one scaling policy for \"" + first->first + "\"",
              "the other is on line " + std::to_string(first->second));
      }
    }
  }

  // Where the policy stands says of which type it is.
  void scaling_type(const hcl::NodeBlock& block, const BlockRule& rule, json& out) {
    std::string type = "horizontal";
    if (!rule.label.empty()) {
      const std::string name = scaled_by(block);
      if (name != "cpu" && name != "mem") {
        error(block.range, "a task's scaling policy is for \"cpu\" or \"mem\"", "scaling \"cpu\" { … }");
        return;
      }
      type = "vertical_" + name;
    }
    if (auto given = block.body.attributes.find("type"); given != block.body.attributes.end() && out["Type"] != type) {
      error(given->second.range, "a scaling policy that stands here is of the type \"" + type + "\"");
    }
    out["Type"] = type;
    if (!out.contains("Max")) error(block.range, "block \"scaling\" needs a \"max\"", "max = 10");
  }

  // Fills in what a silent job file means; in the API's form the fields stay open for the servers.
  static void set_default(json& out, const char* key, const json& value) {
    if (!out.contains(key)) out[key] = value;
  }

  static void template_defaults(json& out) {
    set_default(out, "ChangeMode", "restart");
    set_default(out, "Perms", "0644");
    set_default(out, "Splay", 5'000'000'000);
    set_default(out, "ErrMissingKey", false);
    if (auto script = out.find("ChangeScript"); script != out.end()) {
      set_default(*script, "Timeout", 5'000'000'000);
      set_default(*script, "FailOnError", false);
    }
  }

  static void vault_defaults(json& out) {
    set_default(out, "Env", true);
    set_default(out, "ChangeMode", "restart");
  }

  const Syntax syntax_;
  hcl::Diagnostics& diagnostics_;
  std::string file_;
};

// A vault block of the job or of a group stands for each of its tasks that has none.
void inherit_vault(json& job) {
  const auto take = [](json& owner) {
    json vault;
    if (auto at = owner.find("Vault"); at != owner.end()) {
      vault = std::move(*at);
      owner.erase("Vault");
    }
    return vault;
  };
  const json of_job = take(job);
  auto groups = job.find("TaskGroups");
  if (groups == job.end()) return;
  for (json& group : *groups) {
    json of_group = take(group);
    const json& vault = of_group.is_null() ? of_job : of_group;
    auto tasks = group.find("Tasks");
    if (vault.is_null() || tasks == group.end()) continue;
    for (json& task : *tasks) {
      if (!task.contains("Vault")) task["Vault"] = vault;
    }
  }
}

}  // namespace

json decode_job(const hcl::NodeBlock& job, Syntax syntax, hcl::Diagnostics& diagnostics) {
  Decoder decoder(syntax, diagnostics);
  json out = decoder.block(job, job_rule());
  // A task at job level is a group of its own name with one instance; these come first.
  if (auto tasks = out.find("Tasks"); tasks != out.end()) {
    json groups = json::array();
    for (json& task : *tasks) {
      const json name = task["Name"];
      groups.push_back({{"Name", name}, {"Tasks", json::array({std::move(task)})}});
    }
    for (json& group : out["TaskGroups"]) groups.push_back(std::move(group));
    out["TaskGroups"] = std::move(groups);
    out.erase("Tasks");
  }
  inherit_vault(out);
  if (!out.contains("Name")) out["Name"] = job.labels.empty() ? "" : job.labels.front();  // even where there is an id
  return out;
}

}  // namespace drover::jobspec
