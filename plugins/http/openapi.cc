#include "openapi.h"

#include <google/protobuf/descriptor.h>

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>
#include <set>

#include "drover/json.h"
#include "schemas.h"

namespace drover::api {
namespace {

namespace pb = google::protobuf;
using nlohmann::json;

struct Common {
  const char* name;
  const char* type;
  const char* description;
};
// The parameters that every call understands (QueryOptions).
constexpr Common kCommon[] = {
    {"region", "string", "The region that answers; empty: the agent's own."},
    {"namespace", "string", "The namespace; \"default\" when absent. Lists take \"*\" for all."},
    {"index", "integer", "Blocks until the answer's index is greater."},
    {"wait", "string", "How long to block, for example \"30s\"; five minutes when absent."},
    {"stale", "boolean", "Any server may answer, not the leader alone."},
    {"prefix", "string", "Only what begins with this; identifiers take an even number of digits."},
    {"per_page", "integer", "The most objects of a page; absent: all."},
    {"next_token", "string", "Where the page begins: the header X-Nomad-NextToken of the page before."},
    {"reverse", "boolean", "The other way round."},
};

struct Failure {
  const char* code;
  const char* name;
  const char* description;
};
constexpr Failure kFailures[] = {
    {"400", "BadRequest", "The request is wrong; the text says where."},
    {"403", "Forbidden", "The token does not allow this."},
    {"404", "NotFound", "There is no such object."},
    {"429", "TooManyRequests", "Too much is asked at once; try again later."},
    {"500", "ServerError", "Something failed, or there is no leader."},
    {"501", "NotImplemented", "This version does not do that."},
};

json component(const char* kind, const std::string& name) {
  return {{"$ref", "#/components/" + std::string(kind) + "/" + name}};
}

std::string first_sentence(const std::string& text) { return text.substr(0, text.find(". ")); }

std::string capital(std::string verb) {
  std::transform(verb.begin() + 1, verb.end(), verb.begin() + 1,
                 [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  return verb;
}

// {"namespace": "submit-job"} or {"management": true}.
json access_of(const pb::MethodDescriptor& method) {
  const Access& access = method.options().GetExtension(drover::access);
  const auto* rule =
      access.GetReflection()->GetOneofFieldDescriptor(access, Access::descriptor()->FindOneofByName("rule"));
  if (!rule) return json::object();
  if (!rule->enum_type()) return {{rule->name(), true}};
  return {{rule->name(), json_word(*access.GetReflection()->GetEnum(access, rule))}};
}

class Document {
 public:
  explicit Document(const Comments& comments) : comments_(comments), schemas_(comments) {}

  void add(const Form& form) {
    std::string verb = form.verb;
    std::ranges::transform(verb, verb.begin(), [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
    json& path = paths_[form.path];
    if (!path.contains(verb)) {
      path[verb] = operation(form);
    } else if (!by_query_[form.path + verb].empty()) {
      add_alternative(path[verb], operation(form));
    }  // else a more specific path of the same look stands before
    by_query_[form.path + verb] = form.query;
  }

  json take(std::string_view version) {
    json tags = json::array();
    for (const std::string& tag : tags_) tags.push_back({{"name", tag}});
    return {
        {"openapi", "3.0.3"},
        {"info", {{"title", "drover"}, {"version", version}, {"description", "The HTTP API of a drover agent."}}},
        {"servers", json::array({json{{"url", "/"}}})},
        {"security", json::array({json{{"token", json::array()}}, json{{"bearer", json::array()}}, json::object()})},
        {"tags", tags},
        {"paths", paths_},
        {"components", components()}};
  }

 private:
  // Two methods at one path, told apart by a parameter of the query: a call has the parameters of either, and the
  // answer of one of them.
  static void add_alternative(json& one, const json& other) {
    for (const json& parameter : other["parameters"]) {
      if (std::ranges::find(one["parameters"], parameter) == one["parameters"].end())
        one["parameters"].push_back(parameter);
    }
    json& answer = one["responses"]["200"]["content"]["application/json"]["schema"];
    answer = {{"oneOf", json::array({answer, other["responses"]["200"]["content"]["application/json"]["schema"]})}};
  }

  json operation(const Form& form) {
    const pb::MethodDescriptor& method = *form.binding->method;
    const std::string& tag = method.service()->name();
    tags_.insert(tag);
    json out = {{"operationId", id_of(form)},
                {"tags", json::array({tag})},
                {"parameters", parameters(form)},
                {"responses", responses(form)},
                {"x-drover-access", access_of(method)}};
    if (const std::string comment = comments_.of(method); !comment.empty()) {
      out["summary"] = first_sentence(comment);
      out["description"] = comment;
    }
    if (method.options().GetExtension(drover::access).anyone()) out["security"] = json::array();
    if (json body = request_body(form); !body.is_null()) out["requestBody"] = std::move(body);
    return out;
  }

  // "JobsRegister"; further verbs and paths of the same method are "JobsRegisterPost" and "JobsRegister2".
  std::string id_of(const Form& form) {
    const pb::MethodDescriptor& method = *form.binding->method;
    const Http& http = form.binding->form;
    std::string id = method.service()->name() + method.name();
    const bool is_further = (http.has_write() && form.verb != "PUT") || (http.has_any() && form.verb != "GET");
    if (is_further) id += capital(form.verb);
    std::string taken = id;
    for (int i = 2; !ids_.insert(taken).second; ++i) taken = id + std::to_string(i);
    return taken;
  }

  json parameters(const Form& form) {
    const pb::MethodDescriptor& method = *form.binding->method;
    const pb::Descriptor& request = *method.input_type();
    json all = json::array();
    for (const std::string& name : form.fields) all.push_back(parameter(*request.FindFieldByName(name), "path"));
    for (int i = 0; i < request.field_count(); ++i) {
      if (is_in_query(form, *request.field(i))) all.push_back(parameter(*request.field(i), "query"));
    }
    for (const Http::Header& each : form.binding->form.headers())
      all.push_back({{"name", each.name()},
                     {"in", "header"},
                     {"description", "key=value,key=value"},
                     {"schema", {{"type", "string"}}}});
    for (const Common& each : kCommon) {
      // A field of that name is the method's own, and is filled as well.
      if (understands(method, each.name) && !request.FindFieldByName(each.name))
        all.push_back(component("parameters", each.name));
    }
    return all;
  }

  static bool is_in_query(const Form& form, const pb::FieldDescriptor& field) {
    const Http& http = form.binding->form;
    if (http.body() == "*" || http.body() == field.name() || (http.upload() && field.name() == "data")) return false;
    return !field.message_type() && std::ranges::find(form.fields, field.name()) == form.fields.end();
  }

  static bool understands(const pb::MethodDescriptor& method, std::string_view parameter) {
    const Route& route = method.options().GetExtension(drover::route);
    const bool is_list = route.kind() == Route::LIST, is_read = is_list || route.kind() == Route::READ;
    if (parameter == "region") return route.target() != Route::LOCAL;
    if (parameter == "namespace")
      return method.options().GetExtension(drover::access).rule_case() == Access::kNamespace;
    if (parameter == "index" || parameter == "wait") return is_read;
    if (parameter == "stale") return is_read && route.target() == Route::LEADER;
    if (parameter == "prefix") return is_list;
    return route.pages();
  }

  json parameter(const pb::FieldDescriptor& field, const char* place) {
    json out = {{"name", field.name()}, {"in", place}, {"schema", schemas_.parameter(field)}};
    if (std::string_view(place) == "path") out["required"] = true;
    if (const std::string comment = comments_.of(field); !comment.empty()) out["description"] = comment;
    return out;
  }

  json request_body(const Form& form) {
    const Http& http = form.binding->form;
    const pb::Descriptor& request = *form.binding->method->input_type();
    if (http.upload())
      return {{"required", true},
              {"content", {{"application/octet-stream", {{"schema", {{"type", "string"}, {"format", "binary"}}}}}}}};
    if (http.body().empty()) return nullptr;
    const pb::Descriptor& type = http.body() == "*" ? request : *request.FindFieldByName(http.body())->message_type();
    return {{"required", !http.body_optional()},
            {"content", {{"application/json", {{"schema", schemas_.reference(type)}}}}}};
  }

  json responses(const Form& form) {
    json all = {{"200", answer(form)}};
    for (const Failure& failure : kFailures) all[failure.code] = component("responses", failure.name);
    return all;
  }

  json answer(const Form& form) {
    const pb::MethodDescriptor& method = *form.binding->method;
    json out = {{"description", "Done."}};
    const Route& route = method.options().GetExtension(drover::route);
    for (const char* header : {"X-Nomad-Index", "X-Nomad-KnownLeader", "X-Nomad-LastContact"}) {
      if (understands(method, "index")) out["headers"][header] = component("headers", header);
    }
    if (route.pages()) out["headers"]["X-Nomad-NextToken"] = component("headers", "X-Nomad-NextToken");
    if (json body = content(form); !body.is_null()) out["content"] = std::move(body);
    return out;
  }

  json content(const Form& form) {
    const Http& http = form.binding->form;
    const pb::Descriptor& type = *form.binding->method->output_type();
    json object = {{"schema", http.reply().empty() ? schemas_.reference(type)
                                                   : schemas_.field(*type.FindFieldByName(http.reply()))}};
    const json bytes = {{"schema", {{"type", "string"}, {"format", "binary"}}}};
    const json text = {{"schema", {{"type", "string"}}}};
    switch (http.content()) {
      case Http::EMPTY:
        return nullptr;
      case Http::BYTES:
        return {{"application/octet-stream", bytes}};
      case Http::TEXT:
        return {{"application/json", object}, {"text/plain", text}};
      case Http::FRAMES:  // one object after another
      default:
        return {{"application/json", object}};
    }
  }

  json components() const {
    json parameters, failures;
    for (const Common& each : kCommon) {
      parameters[each.name] = {
          {"name", each.name}, {"in", "query"}, {"description", each.description}, {"schema", {{"type", each.type}}}};
    }
    for (const Failure& failure : kFailures) {
      failures[failure.name] = {{"description", failure.description},
                                {"content", {{"text/plain", {{"schema", {{"type", "string"}}}}}}}};
    }
    const auto header = [](const char* description, const char* type) -> json {
      return {{"description", description}, {"schema", {{"type", type}}}};
    };
    return {{"schemas", schemas_.all()},
            {"parameters", parameters},
            {"responses", failures},
            {"headers",
             {{"X-Nomad-Index", header("The index of the answer; a blocking read passes it on.", "integer")},
              {"X-Nomad-KnownLeader", header("True when the server knew a leader.", "boolean")},
              {"X-Nomad-LastContact", header("Milliseconds since the server heard of the leader.", "integer")},
              {"X-Nomad-NextToken", header("Where the next page begins; absent on the last one.", "string")}}},
            {"securitySchemes",
             {{"token", {{"type", "apiKey"}, {"in", "header"}, {"name", "X-Nomad-Token"}}},
              {"bearer", {{"type", "http"}, {"scheme", "bearer"}}}}}};
  }

  const Comments& comments_;
  Schemas schemas_;
  json paths_ = json::object();
  std::set<std::string> tags_, ids_;
  std::map<std::string, std::string> by_query_;  // by path and verb: the parameter of the last form there
};

}  // namespace

std::string openapi_document(const Routes& routes, std::string_view version) {
  const Comments comments;
  Document document(comments);
  for (const Form& form : routes.forms()) document.add(form);
  return document.take(version).dump();
}

}  // namespace drover::api
