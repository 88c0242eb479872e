#include "drover/api_request.h"

#include <google/protobuf/descriptor.h>
#include <google/protobuf/message.h>

#include <nlohmann/json.hpp>
#include <set>

#include "drover/http_form.h"
#include "drover/json.h"
#include "drover/options.pb.h"

namespace drover {
namespace {

namespace pb = google::protobuf;

const Http& declared(const std::string& method) {
  return pb::DescriptorPool::generated_pool()->FindMethodByName(method)->options().GetExtension(drover::http);
}

// A text as it is, other values as in JSON. A list has several.
std::vector<std::string> texts_of(const pb::Message& message, const pb::FieldDescriptor& field) {
  const auto value = nlohmann::json::parse(field_to_json(message, field));
  std::vector<std::string> texts;
  for (const auto& each : value.is_array() ? value : nlohmann::json::array({value}))
    texts.push_back(each.is_string() ? each.get<std::string>() : each.dump());
  return texts;
}

// "key=value,key=value" of a map of texts, in the order of the keys.
std::string header_text(const pb::Message& message, const pb::FieldDescriptor& field) {
  const auto values = nlohmann::json::parse(field_to_json(message, field));
  std::string text;
  for (const auto& [key, value] : values.items())
    text += (text.empty() ? "" : ",") + key + "=" + value.get<std::string>();
  return text;
}

// Fills in "{job_id=**}" and the like, and remembers the fields.
std::string filled(std::string path, const pb::Message& request, std::set<std::string>& fields) {
  for (size_t from = 0; (from = path.find('{', from)) != std::string::npos;) {
    const size_t end = path.find('}', from);
    const std::string inside = path.substr(from + 1, end - from - 1), name = inside.substr(0, inside.find('='));
    const std::string value = percent_encode(texts_of(request, *request.GetDescriptor()->FindFieldByName(name))[0]);
    fields.insert(name);
    path.replace(from, end + 1 - from, value);
    from += value.size();
  }
  return path;
}

}  // namespace

std::string percent_encode(std::string_view text) {
  static constexpr std::string_view kPlain = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_.~";
  static constexpr char kDigits[] = "0123456789ABCDEF";
  std::string out;
  for (char c : text) {
    if (kPlain.find(c) != std::string_view::npos) {
      out += c;
    } else {
      const auto byte = static_cast<unsigned char>(c);
      out += '%';
      out += kDigits[byte >> 4];
      out += kDigits[byte & 15];
    }
  }
  return out;
}

ApiRequest api_request(const std::string& method, const pb::Message& request, QueryParameters further) {
  const Http& http = declared(method);
  const HttpForm form = http_form(http);
  std::set<std::string> elsewhere = {http.body()};  // what does not go into the query
  ApiRequest out{.verb = std::string(form.verbs.front()),
                 .path = filled(form.path, request, elsewhere),
                 .parameters = std::move(further)};
  if (const size_t equals = http.query().find('='); equals != std::string::npos)
    out.parameters.emplace(http.query().substr(0, equals), http.query().substr(equals + 1));
  const pb::Descriptor& type = *request.GetDescriptor();
  if (http.body() == "*") {
    out.body = message_to_json(request);
    return out;
  }
  if (!http.body().empty()) out.body = field_to_json(request, *type.FindFieldByName(http.body()));
  std::vector<const pb::FieldDescriptor*> set;
  request.GetReflection()->ListFields(request, &set);
  for (const Http::Header& header : http.headers()) {
    elsewhere.insert(header.field());
    const pb::FieldDescriptor& field = *type.FindFieldByName(header.field());
    if (request.GetReflection()->FieldSize(request, &field) > 0)
      out.headers[header.name()] = header_text(request, field);
  }
  for (const pb::FieldDescriptor* field : set) {
    if (elsewhere.contains(field->name())) continue;
    for (std::string& text : texts_of(request, *field)) out.parameters.emplace(field->name(), std::move(text));
  }
  return out;
}

Status read_api_answer(const std::string& method, std::string_view body, pb::Message& answer) {
  const Http& http = declared(method);
  if (http.content() == Http::EMPTY || body.empty()) return ok_status();
  if (http.reply().empty()) return json_to_message(body, answer, UnknownWords::left_out);
  const std::string name = json_name(*answer.GetDescriptor()->FindFieldByName(http.reply()));
  return json_to_message("{\"" + name + "\":" + std::string(body) + "}", answer, UnknownWords::left_out);
}

}  // namespace drover
