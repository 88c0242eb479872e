#include "templates/question.h"

#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>
#include <set>

#include "drover/http_client.h"
#include "templates/values.h"

namespace drover::consul {
namespace {

using http_client::encoded;
using text_template::Value;
using Json = nlohmann::json;
using Arguments = std::span<const Value>;

constexpr std::array<std::string_view, 15> kFunctions = {
    "caLeaf", "caRoots", "connect", "datacenters", "key",     "keyExists", "keyOrDefault", "ls",
    "node",   "nodes",   "safeLs",  "safeTree",    "service", "services",  "tree"};

Value value_of(Json json) { return text_template::value_of(std::move(json)); }

Result<std::string> text_at(Arguments arguments, size_t i) {
  const Json& given = *arguments[i];
  if (!given.is_string())
    return invalid_argument("expected a string, not " + std::string(text_template::type_of(given)));
  return given.get<std::string>();
}

Status wants(Arguments arguments, size_t least, size_t most) {
  if (arguments.size() >= least && arguments.size() <= most) return ok_status();
  std::string range = std::to_string(least);
  if (least != most) range += " to " + std::to_string(most);
  return invalid_argument("takes " + range + " arguments, not " + std::to_string(arguments.size()));
}

bool is_word(std::string_view text, std::string_view more) {
  return !text.empty() && std::ranges::all_of(text, [&](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' ||
           more.find(c) != std::string_view::npos;
  });
}

// Takes what stands behind the last such mark off the text.
std::string take_behind(std::string& text, char mark) {
  const size_t at = text.rfind(mark);
  if (at == std::string::npos) return {};
  std::string out = text.substr(at + 1);
  text.resize(at);
  return out;
}

std::string path_encoded(std::string_view path) {
  std::string out;
  while (true) {
    const size_t slash = path.find('/');
    out += encoded(path.substr(0, slash));
    if (slash == std::string_view::npos) return out;
    out += '/';
    path.remove_prefix(slash + 1);
  }
}

// "path@datacenter"
struct KeyWish {
  std::string path, datacenter;
  std::string shown() const { return path + (datacenter.empty() ? "" : "@" + datacenter); }
  std::string query(const std::string& first) const {
    const std::string dc = datacenter.empty() ? "" : "dc=" + encoded(datacenter);
    const std::string both = first + (first.empty() || dc.empty() ? "" : "&") + dc;
    return both.empty() ? "" : "?" + both;
  }
};

Result<KeyWish> key_wish(const std::string& kind, const std::string& text) {
  KeyWish out{.path = text, .datacenter = ""};
  const bool has_datacenter = text.find('@') != std::string::npos;
  out.datacenter = take_behind(out.path, '@');
  if (out.path.starts_with('/')) out.path.erase(0, 1);
  const bool is_good = out.path.find('@') == std::string::npos && has_datacenter == is_word(out.datacenter, ".-") &&
                       (!out.path.empty() || kind == "kv.list");
  if (!is_good) return invalid_argument(kind + ": invalid format: \"" + text + "\"");
  return out;
}

Question ask_key(const KeyWish& wish, const std::string& kind) {
  return {.path = "/v1/kv/" + path_encoded(wish.path) + wish.query(""),
          .name = kind + "(" + wish.shown() + ")",
          .form = Form::key};
}

// key, keyExists, keyOrDefault. A key's answer is its value, or null.
Result<Question> ask_for_key(std::string_view function, Arguments arguments) {
  const bool has_default = function == "keyOrDefault";
  DROVER_RETURN_IF_ERROR(wants(arguments, has_default ? 2 : 1, has_default ? 2 : 1));
  DROVER_TRY(const std::string text, text_at(arguments, 0));
  const std::string kind = function == "key" ? "kv.block" : function == "keyExists" ? "kv.exists" : "kv.get";
  Value otherwise = value_of(function == "keyExists" ? Json(false) : Json(""));
  if (has_default) {
    DROVER_TRY(const std::string given, text_at(arguments, 1));
    otherwise = value_of(given);
  }
  if (text.empty()) return Question{.otherwise = otherwise};
  DROVER_TRY(const KeyWish wish, key_wish(kind, text));
  Question out = ask_key(wish, kind);
  out.waits = function == "key";
  out.otherwise = std::move(otherwise);
  // An empty value counts as none for keyOrDefault.
  if (has_default) {
    out.pick = [otherwise = out.otherwise](const Json& answer) { return answer == "" ? *otherwise : answer; };
  }
  if (function == "keyExists") {
    out.pick = [](const Json&) { return Json(true); };
  }
  return out;
}

Json shallow(const Json& pairs) {
  Json out = Json::array();
  for (const Json& pair : pairs) {
    const std::string& key = pair["Key"].get_ref<const std::string&>();
    if (!key.empty() && key.find('/') == std::string::npos) out.push_back(pair);
  }
  return out;
}

// Folders have no value.
Json leaves(const Json& pairs) {
  Json out = Json::array();
  for (const Json& pair : pairs) {
    const std::string& key = pair["Key"].get_ref<const std::string&>();
    if (!key.empty() && !key.ends_with('/')) out.push_back(pair);
  }
  return out;
}

// ls, safeLs, tree, safeTree.
Result<Question> ask_for_keys(std::string_view function, Arguments arguments) {
  DROVER_RETURN_IF_ERROR(wants(arguments, 1, 1));
  DROVER_TRY(const std::string text, text_at(arguments, 0));
  Question out{.form = Form::keys, .otherwise = value_of(Json::array())};
  if (text.empty()) return out;
  DROVER_TRY(const KeyWish wish, key_wish("kv.list", text));
  out.path = "/v1/kv/" + path_encoded(wish.path) + wish.query("recurse");
  out.name = "kv.list(" + wish.shown() + ")";
  out.waits = function.starts_with("safe");
  const bool is_shallow = function == "ls" || function == "safeLs";
  out.pick = [prefix = wish.path, is_shallow](const Json& answer) {
    const Json below = below_prefix(answer, prefix);
    return is_shallow ? shallow(below) : leaves(below);
  };
  return out;
}

// "[tag.]name[@datacenter][~near][|filter]"
struct ServiceWish {
  std::string tag, name, datacenter, near;
  std::set<std::string> statuses;  // empty: any
};

Result<std::set<std::string>> statuses_in(const std::string& filter) {
  std::set<std::string> out;
  std::string rest = filter;
  do {
    std::string word = rest.substr(0, rest.find(','));
    rest.erase(0, word.size() + 1);
    std::erase(word, ' ');
    if (word == "any" || word == "passing" || word == "warning" || word == "critical" || word == "maintenance") {
      out.insert(word);
    } else if (!word.empty()) {
      return invalid_argument("health.service: invalid filter: \"" + word + "\" in \"" + filter + "\"");
    }
  } while (!rest.empty());
  if (out.contains("any")) return std::set<std::string>();
  if (out.empty()) out.insert("passing");
  return out;
}

Result<ServiceWish> service_wish(const std::string& text, const std::string& more) {
  std::string rest = text;
  const std::string filter = take_behind(rest, '|');
  ServiceWish out;
  DROVER_TRY(out.statuses, statuses_in(filter.empty() ? more : filter));
  const bool has_near = rest.find('~') != std::string::npos;
  out.near = take_behind(rest, '~');
  const bool has_datacenter = rest.find('@') != std::string::npos;
  out.datacenter = take_behind(rest, '@');
  out.name = rest;
  if (const size_t dot = rest.rfind('.'); dot != std::string::npos) {
    out.tag = rest.substr(0, dot);
    out.name = rest.substr(dot + 1);
  }
  const bool is_good = is_word(out.name, "-/") && (rest.size() == out.name.size() || is_word(out.tag, "-.=:")) &&
                       has_datacenter == is_word(out.datacenter, ".-") && has_near == is_word(out.near, ".-");
  if (!is_good) return invalid_argument("health.service: invalid format: \"" + text + "\"");
  return out;
}

void add_query(std::string& path, const char* name, const std::string& value) {
  if (value.empty()) return;
  path += (path.find('?') == std::string::npos ? "?" : "&") + std::string(name) + "=" + encoded(value);
}

Result<Question> ask_for_service(Arguments arguments) {
  DROVER_RETURN_IF_ERROR(wants(arguments, 1, 9));
  DROVER_TRY(const std::string text, text_at(arguments, 0));
  std::string filter;
  for (size_t i = 1; i < arguments.size(); ++i) {
    DROVER_TRY(const std::string word, text_at(arguments, i));
    filter += (filter.empty() ? "" : ",") + word;
  }
  Question out{.form = Form::instances, .otherwise = value_of(Json::array())};
  if (text.empty()) return out;
  DROVER_TRY(const ServiceWish wish, service_wish(text, filter));
  out.path = "/v1/health/service/" + encoded(wish.name);
  if (wish.statuses == std::set<std::string>{"passing"}) add_query(out.path, "passing", "1");
  add_query(out.path, "tag", wish.tag);
  add_query(out.path, "dc", wish.datacenter);
  add_query(out.path, "near", wish.near);
  out.name = "health.service(" + (wish.tag.empty() ? "" : wish.tag + ".") + wish.name +
             (wish.datacenter.empty() ? "" : "@" + wish.datacenter) + (wish.near.empty() ? "" : "~" + wish.near);
  std::string shown;
  for (const std::string& status : wish.statuses) shown += (shown.empty() ? "|" : ",") + status;
  out.name += shown + ")";
  out.pick = [statuses = wish.statuses, is_sorted = wish.near.empty()](const Json& answer) {
    return instances_of(answer, statuses, is_sorted);
  };
  return out;
}

Result<Question> ask_for_services(Arguments arguments) {
  DROVER_RETURN_IF_ERROR(wants(arguments, 0, 1));
  std::string text;
  if (!arguments.empty()) {
    DROVER_TRY(text, text_at(arguments, 0));
  }
  const std::string datacenter = text.starts_with('@') ? text.substr(1) : "";
  if (!text.empty() && !is_word(datacenter, ".-"))
    return invalid_argument("catalog.services: invalid format: \"" + text + "\"");
  Question out{.path = "/v1/catalog/services", .form = Form::service_names, .otherwise = value_of(Json::array())};
  add_query(out.path, "dc", datacenter);
  out.name = "catalog.services" + (text.empty() ? "" : "(" + text + ")");
  return out;
}

// "[@datacenter][~near]"
Result<Question> ask_for_nodes(Arguments arguments) {
  DROVER_RETURN_IF_ERROR(wants(arguments, 0, 1));
  std::string text;
  if (!arguments.empty()) {
    DROVER_TRY(text, text_at(arguments, 0));
  }
  std::string rest = text;
  const bool has_near = rest.find('~') != std::string::npos;
  const std::string near = take_behind(rest, '~');
  const bool has_datacenter = rest.find('@') != std::string::npos;
  const std::string datacenter = take_behind(rest, '@');
  if (!rest.empty() || has_near != is_word(near, ".-") || has_datacenter != is_word(datacenter, ".-"))
    return invalid_argument("catalog.nodes: invalid format: \"" + text + "\"");
  Question out{.path = "/v1/catalog/nodes", .form = Form::nodes, .otherwise = value_of(Json::array())};
  add_query(out.path, "dc", datacenter);
  add_query(out.path, "near", near);
  out.name = "catalog.nodes" + (text.empty() ? "" : "(" + text + ")");
  return out;
}

// "[name][@datacenter]": without a name the node's own Consul.
Result<Question> ask_for_node(Arguments arguments) {
  DROVER_RETURN_IF_ERROR(wants(arguments, 0, 1));
  std::string text;
  if (!arguments.empty()) {
    DROVER_TRY(text, text_at(arguments, 0));
  }
  std::string name = text;
  const bool has_datacenter = name.find('@') != std::string::npos;
  const std::string datacenter = take_behind(name, '@');
  const bool is_good =
      name.empty() ? !has_datacenter : is_word(name, ".-") && has_datacenter == is_word(datacenter, ".-");
  if (!is_good) return invalid_argument("catalog.node: invalid format: \"" + text + "\"");
  Question out{.path = "/v1/catalog/node/" + encoded(name), .form = Form::node, .otherwise = value_of(nullptr)};
  out.is_about_own_node = name.empty();
  add_query(out.path, "dc", datacenter);
  out.name = "catalog.node" + (text.empty() ? "" : "(" + text + ")");
  return out;
}

Result<Question> ask_for_datacenters(Arguments arguments) {
  DROVER_RETURN_IF_ERROR(wants(arguments, 0, 0));
  return Question{.path = "/v1/catalog/datacenters",
                  .name = "catalog.datacenters",
                  .form = Form::texts,
                  .otherwise = value_of(Json::array())};
}

}  // namespace

std::span<const std::string_view> function_names() { return kFunctions; }

Result<Question> question_of(std::string_view function, Arguments arguments) {
  if (function.starts_with("key")) return ask_for_key(function, arguments);
  if (function == "ls" || function == "safeLs" || function == "tree" || function == "safeTree")
    return ask_for_keys(function, arguments);
  if (function == "service") return ask_for_service(arguments);
  if (function == "services") return ask_for_services(arguments);
  if (function == "nodes") return ask_for_nodes(arguments);
  if (function == "node") return ask_for_node(arguments);
  if (function == "datacenters") return ask_for_datacenters(arguments);
  return failed_precondition("is for Consul's service mesh, which this version does not carry out");
}

}  // namespace drover::consul
