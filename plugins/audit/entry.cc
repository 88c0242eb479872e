#include "entry.h"

#include <google/protobuf/descriptor.h>
#include <google/protobuf/dynamic_message.h>
#include <google/protobuf/message.h>

#include <algorithm>
#include <array>
#include <memory>
#include <nlohmann/json.hpp>

#include "drover/json.h"
#include "drover/options.pb.h"
#include "drover/printable.h"
#include "drover/time.h"
#include "drover/uuid.h"

namespace drover::audit {
namespace {

using google::protobuf::FieldDescriptor;
using google::protobuf::Message;
using Json = nlohmann::ordered_json;

constexpr size_t kLongestValue = 256;
// Fields by which things are known, beside those that paths name.
constexpr std::string_view kNames[] = {"id",      "name",    "path",     "job_id",     "alloc_id", "accessor_id",
                                       "node_id", "task",    "namespace", "auth_method", "type"};

void add_forms(const Http& http, std::vector<HttpForm>& forms) {
  if (HttpForm form = http_form(http); !form.path.empty()) forms.push_back(std::move(form));
  for (const Http& other : http.also()) add_forms(other, forms);
}

bool matches(std::string_view pattern, std::string_view path) {
  if (pattern.ends_with('*')) return path.starts_with(pattern.substr(0, pattern.size() - 1));
  return pattern == path;
}

bool is_named_by_path(const Audited& what, const std::string& field) {
  return std::ranges::any_of(what.forms, [&](const HttpForm& form) {
    return form.path.find("{" + field + "}") != std::string::npos ||
           form.path.find("{" + field + "=**}") != std::string::npos;
  });
}

std::string text_of(const Message& message, const FieldDescriptor& field) {
  const std::string value = message.GetReflection()->GetString(message, &field);
  if (field.type() == FieldDescriptor::TYPE_BYTES)
    return value.size() == 16 ? Uuid::from_bytes(value).to_string() : std::string();
  return printable(value.substr(0, kLongestValue));
}

void add_field(const Message& message, const FieldDescriptor& field, std::map<std::string, std::string>& object) {
  const bool is_text = field.cpp_type() == FieldDescriptor::CPPTYPE_STRING && !field.is_repeated();
  if (!is_text || field.options().GetExtension(drover::field).form() == Field::SECRET) return;
  if (std::string text = text_of(message, field); !text.empty()) object.emplace(field.name(), std::move(text));
}

bool is_name(const std::string& field) { return std::ranges::find(kNames, field) != std::end(kNames); }

std::string word_of(Identity::Kind kind) {
  constexpr std::array kWords{"anonymous", "management", "token", "client", "workload"};
  return kWords[static_cast<size_t>(kind)];
}

std::string outcome_of(const Status& status) {
  if (status.ok()) return "ok";
  return status.code() == Code::permission_denied ? "denied" : "failed";
}

}  // namespace

std::optional<Audited> audited(const google::protobuf::MethodDescriptor& method) {
  if (!method.options().HasExtension(drover::http)) return std::nullopt;
  Audited what{.service = method.service()->name(), .name = method.name(), .forms = {}, .method = &method};
  add_forms(method.options().GetExtension(drover::http), what.forms);
  return what.forms.empty() ? std::nullopt : std::optional(std::move(what));
}

bool Filter::leaves_out(const HttpForm& form) const {
  const auto names = [&](std::string_view word) { return std::ranges::find(operations, word) != operations.end(); };
  const bool is_its_operation = operations.empty() || names("*") || std::ranges::any_of(form.verbs, names);
  return is_its_operation && std::ranges::any_of(endpoints, [&](const std::string& endpoint) {
           return matches(endpoint, form.path);
         });
}

std::map<std::string, std::string> object_of(const Audited& what, std::string_view bytes) {
  std::map<std::string, std::string> object;
  const std::unique_ptr<Message> request(
      google::protobuf::MessageFactory::generated_factory()->GetPrototype(what.method->input_type())->New());
  if (!request->ParseFromArray(bytes.data(), static_cast<int>(bytes.size()))) return object;
  const auto* type = request->GetDescriptor();
  for (int i = 0; i < type->field_count(); ++i) {
    const FieldDescriptor& field = *type->field(i);
    if (is_named_by_path(what, field.name()) || is_name(field.name())) add_field(*request, field, object);
    const bool is_message = field.cpp_type() == FieldDescriptor::CPPTYPE_MESSAGE && !field.is_repeated();
    if (!is_message || !request->GetReflection()->HasField(*request, &field)) continue;
    const Message& inner = request->GetReflection()->GetMessage(*request, &field);
    for (int j = 0; j < inner.GetDescriptor()->field_count(); ++j) {
      if (is_name(inner.GetDescriptor()->field(j)->name())) add_field(inner, *inner.GetDescriptor()->field(j), object);
    }
  }
  return object;
}

std::string line_of(const Audited& what, const CallContext& context, std::string_view request, const Status& outcome,
                    const std::string& region, int64_t now_ns) {
  const HttpForm& form = what.forms.front();
  Json line = {{"time", format_time(now_ns)},
               {"method", what.service + "." + what.name},
               {"operation", form.verbs.front()},
               {"endpoint", form.path},
               {"identity", {{"kind", word_of(context.identity.kind)}, {"name", context.identity.name}}},
               {"address", context.remote_address},
               {"region", region},
               {"namespace", context.query.name_space},
               {"object", object_of(what, request)},
               {"outcome", outcome_of(outcome)}};
  if (!outcome.ok()) line["code"] = to_string(outcome.code());
  return line.dump(-1, ' ', false, Json::error_handler_t::replace) + "\n";
}

}  // namespace drover::audit
