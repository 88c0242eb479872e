#include "job_functions.h"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "functions/time_layout.h"

namespace drover::templates {
namespace {

const Function* pure(std::string_view name) {
  for (const FunctionTable* table :
       {&text_functions(), &regex_functions(), &number_functions(), &list_functions(), &document_functions()}) {
    if (const auto found = table->find(name); found != table->end()) return &found->second;
  }
  return nullptr;
}

struct Bounds {
  size_t least, most;
};

// Functions of the task, its files, its services and the time.
const std::map<std::string_view, Bounds>& own_functions() {
  static const std::map<std::string_view, Bounds> kOwn = {
      {"env", {1, 1}},         {"envOrDefault", {2, 2}},   {"executeTemplate", {1, 2}}, {"file", {1, 1}},
      {"mustEnv", {1, 1}},     {"nomadService", {1, 3}},   {"nomadServices", {0, 1}},   {"scratch.Get", {1, 1}},
      {"scratch.Key", {1, 1}}, {"scratch.MapSet", {3, 3}}, {"scratch.MapSetX", {3, 3}}, {"scratch.MapValues", {1, 1}},
      {"scratch.Set", {2, 2}}, {"scratch.SetX", {2, 2}},   {"timestamp", {0, 1}}};
  return kOwn;
}

// Functions of things that are not there: why a call is refused.
std::string_view absence(std::string_view name) {
  static constexpr std::string_view kConsul[] = {
      "caLeaf", "caRoots", "connect", "datacenters", "key",     "keyExists", "keyOrDefault", "ls",
      "node",   "nodes",   "safeLs",  "safeTree",    "service", "services",  "tree"};
  static constexpr std::string_view kVault[] = {"pkiCert", "secret", "secrets"};
  static constexpr std::string_view kDebug[] = {"spew_dump", "spew_printf", "spew_sdump", "spew_sprintf"};
  const auto is_one_of = [&](const auto& names) { return std::ranges::find(names, name) != std::end(names); };
  if (is_one_of(kConsul)) return "needs Consul, of which this agent's configuration says nothing (the block consul)";
  if (is_one_of(kVault)) return "needs Vault, of which this agent's configuration says nothing (the block vault)";
  if (is_one_of(kDebug)) return "prints the inside of Go's values; printf with %v shows what is there";
  if (name == "plugin" || name == "writeToFile") return "is not carried out: a template only writes its destination";
  if (name == "sockaddr") return "is not carried out; the attribute unique.network.ip-address has the node's address";
  return {};
}

Status wrong_count(const Bounds& bounds, size_t count) {
  std::string wanted = std::to_string(bounds.least);
  if (bounds.most == kAny) {
    wanted += " or more";
  } else if (bounds.most != bounds.least) {
    wanted += " to " + std::to_string(bounds.most);
  }
  return invalid_argument("takes " + wanted + " arguments, not " + std::to_string(count));
}

}  // namespace

bool is_job_function(std::string_view name, const Sources* sources) {
  return pure(name) || own_functions().contains(name) || VariableFunctions::has(name) ||
         (sources && sources->find(name)) || !absence(name).empty();
}

Result<Value> JobFunctions::call(std::string_view name, Arguments arguments) {
  if (denied_.contains(name)) return permission_denied("function is disabled on this node");
  if (const Sources::Found* found = world_.sources ? world_.sources->find(name) : nullptr)
    return of_source(*found, name, arguments);
  if (const std::string_view why = absence(name); !why.empty()) return failed_precondition(std::string(why));
  if (VariableFunctions::has(name)) return variables_.call(name, arguments);
  const Function* function = pure(name);
  const Bounds bounds = function ? Bounds{function->least, function->most} : own_functions().at(name);
  if (arguments.size() < bounds.least || arguments.size() > bounds.most) return wrong_count(bounds, arguments.size());
  if (function) return function->call(arguments);
  if (name == "env") return env(arguments);
  if (name == "envOrDefault") return env_or_default(arguments);
  if (name == "mustEnv") return must_env(arguments);
  if (name == "file") return file(arguments);
  if (name == "timestamp") return timestamp(arguments);
  if (name == "nomadService") return service(arguments);
  if (name == "nomadServices") return services(arguments);
  return scratch(name.substr(name.find('.') + 1), arguments);
}

std::set<std::string> JobFunctions::missing() const {
  std::set<std::string> all = missing_;
  all.insert(variables_.missing().begin(), variables_.missing().end());
  return all;
}

const std::string* JobFunctions::variable(const std::string& name) const {
  for (const Variables* all : {&world_.environment, &world_.node}) {
    if (const auto found = all->find(name); found != all->end()) return &found->second;
  }
  return nullptr;
}

Result<Value> JobFunctions::env(Arguments arguments) {
  DROVER_TRY(const std::string name, text_at(arguments, 0));
  const std::string* value = variable(name);
  return value_of(value ? *value : "");
}

Result<Value> JobFunctions::env_or_default(Arguments arguments) {
  DROVER_TRY(const std::string name, text_at(arguments, 0));
  DROVER_TRY(const std::string otherwise, text_at(arguments, 1));
  const std::string* value = variable(name);
  return value_of(value ? *value : otherwise);
}

Result<Value> JobFunctions::must_env(Arguments arguments) {
  DROVER_TRY(const std::string name, text_at(arguments, 0));
  const std::string* value = variable(name);
  if (!value || value->empty()) return invalid_argument("required environment variable " + name + " is empty");
  return value_of(*value);
}

Result<Value> JobFunctions::file(Arguments arguments) {
  DROVER_TRY(const std::string path, text_at(arguments, 0));
  files_.insert(path);
  auto text = world_.read_file(path);
  if (text) return value_of(*std::move(text));
  if (text.status().code() != Code::not_found) return text.status();
  missing_.insert("file(" + path + ")");
  return value_of("");
}

Value JobFunctions::rows_for(const ServiceWish& wish) {
  ServiceQuery query = wish.query;
  if (const std::string* own = variable("NOMAD_NAMESPACE")) query.name_space = *own;
  const Seen seen = reads_.look(question_of(query));
  if (!seen.value) {
    missing_.insert(name_of(wish));
    return value_of(json::array());
  }
  if (wish.tag.empty()) return seen.value;
  json tagged = json::array();
  for (const json& row : *seen.value) {
    if (std::ranges::find(row["Tags"], json(wish.tag)) != row["Tags"].end()) tagged.push_back(row);
  }
  return value_of(std::move(tagged));
}

Result<Value> JobFunctions::of_source(const Sources::Found& found, std::string_view name, Arguments arguments) {
  if (!world_.task) return failed_precondition("is for the templates of tasks");
  SourceLooks looks(found.name, *world_.task, world_.environment, reads_, missing_);
  return found.source->call(name, arguments, looks);
}

// nomadService "name", or nomadService COUNT "key" "name".
Result<Value> JobFunctions::service(Arguments arguments) {
  if (arguments.size() == 2) return invalid_argument("takes a name, or a number, a key and a name");
  DROVER_TRY(const std::string name, text_at(arguments, arguments.size() - 1));
  DROVER_TRY(ServiceWish wish, parse_service(name));
  if (arguments.size() == 3) {
    if (!arguments[0]->is_number_integer() || arguments[0]->get<int64_t>() < 1)
      return invalid_argument("the number of instances must be at least 1");
    DROVER_TRY(const std::string key, text_at(arguments, 1));
    wish.query.choose = std::to_string(arguments[0]->get<int64_t>()) + "|" + key;
  }
  return rows_for(wish);
}

Result<Value> JobFunctions::services(Arguments arguments) {
  std::string region;
  if (!arguments.empty()) {
    DROVER_TRY(region, text_at(arguments, 0));
  }
  DROVER_TRY(const ServiceWish wish, parse_services(region));
  return rows_for(wish);
}

Result<Value> JobFunctions::timestamp(Arguments arguments) {
  if (arguments.empty()) return value_of(time_text(world_.now_ns, kRfc3339));
  DROVER_TRY(const std::string layout, text_at(arguments, 0));
  if (layout == "unix") return value_of(std::to_string(world_.now_ns / 1'000'000'000));
  return value_of(time_text(world_.now_ns, layout));
}

Result<Value> JobFunctions::scratch(std::string_view method, Arguments arguments) {
  DROVER_TRY(const std::string key, text_at(arguments, 0));
  const auto known = scratch_.find(key);
  if (method == "Key") return value_of(known != scratch_.end());
  if (method == "Get") return known == scratch_.end() ? value_of(nullptr) : known->second;
  if (method == "Set" || method == "SetX") {
    if (method == "Set" || known == scratch_.end()) scratch_[key] = arguments[1];
    return value_of("");
  }
  json map = known == scratch_.end() ? json::object() : *known->second;
  if (!map.is_object()) return invalid_argument("\"" + key + "\" is not a map");
  if (method == "MapValues") {
    json values = json::array();
    for (const json& value : map) values.push_back(value);
    return value_of(std::move(values));
  }
  DROVER_TRY(const std::string inner, text_at(arguments, 1));
  if (method == "MapSet" || !map.contains(inner)) map[inner] = *arguments[2];
  scratch_[key] = value_of(std::move(map));
  return value_of("");
}

}  // namespace drover::templates
