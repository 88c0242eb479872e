#include "request.h"

#include <google/protobuf/descriptor.h>
#include <google/protobuf/message.h>

#include <algorithm>
#include <charconv>
#include <optional>

#include "drover/duration.h"
#include "drover/json.h"
#include "drover/message_fields.h"
#include "drover/reply_meta.h"
#include "drover/trim.h"

namespace drover::api {
namespace {

using google::protobuf::FieldDescriptor;
using google::protobuf::Message;

std::unique_ptr<Message> new_message(const google::protobuf::Descriptor* type) {
  return std::unique_ptr<Message>(google::protobuf::MessageFactory::generated_factory()->GetPrototype(type)->New());
}

std::string_view get(const Query& query, std::string_view name) {
  auto at = query.find(name);
  return at == query.end() ? std::string_view() : std::string_view(at->second);
}

template <typename Integer>
bool parse_number(std::string_view text, Integer& out) {
  auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), out);
  return error == std::errc() && end == text.data() + text.size();
}

// The words that Go's clients use; absent for any other.
std::optional<bool> parse_bool(std::string_view text) {
  for (std::string_view yes : {"1", "t", "T", "true", "TRUE", "True"})
    if (text == yes) return true;
  for (std::string_view no : {"0", "f", "F", "false", "FALSE", "False"})
    if (text == no) return false;
  return std::nullopt;
}

Status common_parameters(const Query& query, QueryOptions& options) {
  options.region = get(query, "region");
  if (query.contains("namespace")) options.name_space = get(query, "namespace");
  options.prefix = get(query, "prefix");
  options.filter = get(query, "filter");
  options.next_token = get(query, "next_token");
  options.reverse = get(query, "reverse") == "true";
  if (query.contains("index") && !parse_number(get(query, "index"), options.min_index))
    return invalid_argument("Invalid index");
  if (query.contains("wait")) {
    auto wait = parse_duration(get(query, "wait"));
    if (!wait) return invalid_argument("Invalid wait time");
    options.max_wait = *wait;
  }
  if (query.contains("stale")) {
    const std::string_view value = get(query, "stale");
    const std::optional<bool> is_stale = value.empty() ? true : parse_bool(value);
    if (!is_stale) return invalid_argument("Failed to parse value of \"stale\" (" + std::string(value) + ") as a bool");
    options.stale = *is_stale;
  }
  if (query.contains("per_page") && (!parse_number(get(query, "per_page"), options.per_page) || options.per_page < 0)) {
    return invalid_argument("Failed to parse value of \"per_page\" (" + std::string(get(query, "per_page")) +
                            ") as a number");
  }
  return ok_status();
}

// A read of the cluster's state has an index even where nothing was ever written.
bool reads_state(const google::protobuf::MethodDescriptor& method) {
  const Route& route = method.options().GetExtension(drover::route);
  return (route.kind() == Route::READ || route.kind() == Route::LIST) &&
         (route.target() == Route::LEADER || route.target() == Route::ANY);
}

void add_meta(const ReplyMeta& meta, Answer& answer) {
  answer.headers.emplace_back("X-Nomad-Index", std::to_string(meta.index));
  answer.headers.emplace_back(
      "X-Nomad-LastContact",
      std::to_string(std::chrono::duration_cast<std::chrono::milliseconds>(meta.last_contact).count()));
  answer.headers.emplace_back("X-Nomad-KnownLeader", meta.known_leader ? "true" : "false");
}

// For paths of Nomad's API that no method answers, but that its clients must understand the answer of.
Answer no_route(std::string_view path, const Routes& routes) {
  if (path.starts_with("/v1/acl/") && !routes.has_below("/v1/acl")) return text_answer(400, "ACL support disabled");
  for (std::string_view paid : {"/v1/quota", "/v1/sentinel/", "/v1/recommendation", "/v1/operator/license"}) {
    if (path.starts_with(paid)) return text_answer(501, "Nomad Enterprise only endpoint");
  }
  if (path == "/v1/var/") return text_answer(400, "missing variable path");
  return {.status = 404};
}

// Some answers say in their body what the headers say.
void tell_meta(const ReplyMeta& meta, const google::protobuf::Descriptor& type, std::string& response) {
  const auto tell = [&](const char* name, uint64_t value) {
    if (const auto* field = type.FindFieldByName(name))
      append_field(response, static_cast<uint32_t>(field->number()), value);
  };
  tell("index", meta.index);
  tell("last_contact", static_cast<uint64_t>(meta.last_contact.count()));
  tell("known_leader", meta.known_leader ? 1 : 0);
}

// The text or the bytes in that field of a serialized message; empty where its type has none of that name.
std::string_view text_in(std::string_view message, const google::protobuf::Descriptor& type, const char* name) {
  const auto* field = type.FindFieldByName(name);
  return field ? bytes_field(message, static_cast<uint32_t>(field->number())) : std::string_view();
}

// Some parameters are written with dashes: lock-acquire.
std::string field_name(std::string parameter) {
  std::ranges::replace(parameter, '-', '_');
  return parameter;
}

// A method whose answer is not always 200 says so in a field of that name.
int status_in(std::string_view message, const google::protobuf::Descriptor& type) {
  const auto* field = type.FindFieldByName("http_status");
  if (!field) return 200;
  const uint64_t said = number_field(message, static_cast<uint32_t>(field->number()));
  return said == 0 ? 200 : static_cast<int>(said);
}

// Makes a text fit for a header: a line end would begin another one.
std::string one_line(std::string text) {
  std::ranges::replace_if(
      text, [](unsigned char c) { return c < 0x20 || c == 0x7f; }, ' ');
  return text;
}

}  // namespace

std::string_view bearer(std::string_view authorization) {
  const size_t space = authorization.find(' ');
  if (space == std::string_view::npos) return {};
  std::string scheme(authorization.substr(0, space));
  std::ranges::transform(scheme, scheme.begin(), [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  if (scheme != "bearer") return {};
  authorization.remove_prefix(space + 1);
  return authorization.substr(0, authorization.find(' '));
}

Result<Query> parse_query(std::string_view text) {
  Query query;
  while (!text.empty()) {
    const std::string_view part = text.substr(0, text.find('&'));
    text.remove_prefix(std::min(text.size(), part.size() + 1));
    if (part.empty()) continue;
    const size_t equals = part.find('=');
    auto name = percent_decode(part.substr(0, equals), true);
    auto value = percent_decode(equals == std::string_view::npos ? "" : part.substr(equals + 1), true);
    if (!name || !value) return invalid_argument("the query \"" + std::string(part) + "\" has a damaged escape");
    query.emplace(*std::move(name), *std::move(value));
  }
  return query;
}

Answer text_answer(int status, std::string text) {
  return {.status = status, .body = std::move(text), .content_type = "text/plain; charset=utf-8"};
}

Answer error_answer(const Status& status) {
  if (auto http_status = http_status_of(status)) return text_answer(*http_status, status.message());
  switch (status.code()) {
    case Code::invalid_argument:
    case Code::out_of_range:
      return text_answer(400, status.message());
    case Code::permission_denied:
    case Code::unauthenticated:
      return text_answer(403, status.message());
    case Code::not_found:
      return text_answer(404, status.message());
    case Code::resource_exhausted:
      return text_answer(429, status.message());
    case Code::unimplemented:
      return text_answer(501, status.message());
    default:
      return text_answer(500, status.message());
  }
}

namespace {

// Fills a map of texts from "key=value,key=value".
Status fill_map(const std::string& header, std::string_view text, const FieldDescriptor& field, Message& request) {
  const FieldDescriptor* const key = field.message_type()->map_key();
  const FieldDescriptor* const value = field.message_type()->map_value();
  while (!text.empty()) {
    const size_t comma = std::min(text.find(','), text.size());
    const std::string_view pair = trim(text.substr(0, comma));
    text.remove_prefix(std::min(comma + 1, text.size()));
    const size_t equals = pair.find('=');
    if (equals == std::string_view::npos || equals == 0)
      return invalid_argument("the header " + header + " is not of the form key=value,key=value");
    Message* const entry = request.GetReflection()->AddMessage(&request, &field);
    entry->GetReflection()->SetString(entry, key, std::string(pair.substr(0, equals)));
    entry->GetReflection()->SetString(entry, value, std::string(pair.substr(equals + 1)));
  }
  return ok_status();
}

Status fill_from_headers(const Incoming& incoming, const Http& form, Message& request) {
  if (!incoming.header) return ok_status();
  for (const Http::Header& wanted : form.headers()) {
    const FieldDescriptor* const field = request.GetDescriptor()->FindFieldByName(wanted.field());
    DROVER_RETURN_IF_ERROR(fill_map(wanted.name(), incoming.header(wanted.name()), *field, request));
  }
  return ok_status();
}

}  // namespace

std::variant<Outgoing, Answer> to_call(const Incoming& incoming, const Routes& routes) {
  const size_t mark = incoming.target.find('?');
  const std::string_view path = incoming.target.substr(0, mark);
  const std::string_view parameters = mark == std::string_view::npos ? "" : incoming.target.substr(mark + 1);
  Match match = routes.find(incoming.verb, path, parameters);
  if (!match.binding) return match.path_known ? text_answer(405, "Invalid method") : no_route(path, routes);
  auto query = parse_query(parameters);
  if (!query) return error_answer(query.status());

  Outgoing out;
  out.binding = match.binding;
  const auto& method = *match.binding->method;
  out.context.method = "/" + method.service()->full_name() + "/" + method.name();
  if (Status status = common_parameters(*query, out.context.query); !status.ok()) return error_answer(status);
  out.context.query.token = incoming.token.empty() ? bearer(incoming.authorization) : incoming.token;
  out.ws_handshake = parse_bool(get(*query, "ws_handshake")).value_or(false);
  out.pretty = query->contains("pretty") && get(*query, "pretty") != "0";

  auto request = new_message(method.input_type());
  if (const std::string& body = match.binding->form.body(); !body.empty()) {
    if (incoming.body.empty()) {
      if (!match.binding->form.body_optional()) return text_answer(400, "Request body is empty");
    } else {
      Message* target = request.get();
      if (body != "*")
        target = request->GetReflection()->MutableMessage(request.get(), method.input_type()->FindFieldByName(body));
      if (Status status = json_to_message(incoming.body, *target); !status.ok()) return error_answer(status);
    }
  }
  for (const auto& [name, value] : *query) {
    const FieldDescriptor* field = method.input_type()->FindFieldByName(field_name(name));
    if (!field || field->cpp_type() == FieldDescriptor::CPPTYPE_MESSAGE) continue;  // unknown parameters are ignored
    if (Status status = text_to_field(value, *field, *request); !status.ok()) return error_answer(status);
  }
  for (const auto& [name, value] : match.parameters) {
    const FieldDescriptor* field = method.input_type()->FindFieldByName(name);
    if (Status status = text_to_field(value, *field, *request); !status.ok()) return error_answer(status);
  }
  if (Status status = fill_from_headers(incoming, match.binding->form, *request); !status.ok())
    return error_answer(status);
  if (const FieldDescriptor* plain = method.input_type()->FindFieldByName("plain");
      plain && plain->cpp_type() == FieldDescriptor::CPPTYPE_BOOL) {
    out.plain = request->GetReflection()->GetBool(*request, plain);
  }
  if (match.binding->form.content() == Http::BYTES) out.plain = true;
  out.request = request->SerializeAsString();
  return out;
}

Answer to_answer(const Outgoing& call, Result<Reply> reply) {
  if (!reply) {
    Answer answer = error_answer(reply.status());
    if (const auto meta = meta_of(reply.status()); meta && answer.status == 404) add_meta(*meta, answer);
    return answer;
  }
  const auto& method = *call.binding->method;
  const auto& type = *method.output_type();
  Answer answer;
  const ReplyMeta& meta = reply->meta;
  if (meta.index > 0 || reads_state(method)) add_meta(meta, answer);
  if (!meta.next_token.empty()) answer.headers.emplace_back("X-Nomad-NextToken", one_line(meta.next_token));
  answer.status = status_in(reply->body, type);
  if (call.binding->form.content() == Http::EMPTY || answer.status == 204) return answer;
  if (call.binding->form.content() == Http::TEXT) {
    if (const std::string_view text = text_in(reply->body, type, "text"); !text.empty()) {
      answer.body = text;
      answer.content_type = "text/plain; version=0.0.4; charset=utf-8";
      return answer;
    }
  }
  tell_meta(meta, type, reply->body);
  const JsonStyle style{.pretty = call.pretty};
  const std::string& only = call.binding->form.reply();
  const FieldDescriptor* field = only.empty() ? nullptr : type.FindFieldByName(only);
  auto json = field ? serialized_to_json(reply->body, *field, style) : serialized_to_json(reply->body, type, style);
  if (!json) return error_answer(internal_error("the answer of " + method.full_name() + " cannot be read"));
  answer.body = *std::move(json);
  answer.content_type = "application/json";
  return answer;
}

bool append_frame(const Outgoing& call, std::string_view bytes, std::string& out) {
  const auto& type = *call.binding->method->output_type();
  if (call.plain) {
    out += text_in(bytes, type, "data");
    return true;
  }
  auto json = serialized_to_json(bytes, type);
  if (json) out += *json;
  return json.ok();
}

bool is_same_origin(std::string_view origin, std::string_view host) {
  if (origin.empty()) return true;
  const size_t scheme = origin.find("://");
  if (scheme == std::string_view::npos) return false;
  const auto is_same = [](char a, char b) {
    return std::tolower(static_cast<unsigned char>(a)) == std::tolower(static_cast<unsigned char>(b));
  };
  return std::ranges::equal(origin.substr(scheme + 3), host, is_same);
}

Result<std::string> frame_message(const Outgoing& call, std::string_view frame) {
  auto message = new_message(call.binding->method->input_type());
  DROVER_RETURN_IF_ERROR(json_to_message(frame, *message));
  return message->SerializeAsString();
}

std::string digest_of(const Outgoing& call, std::string_view bytes) {
  return std::string(text_in(bytes, *call.binding->method->output_type(), "digest"));
}

std::string content_type_of(const Outgoing& call, std::string_view bytes) {
  const std::string_view said = text_in(bytes, *call.binding->method->output_type(), "content_type");
  return said.empty() ? "application/octet-stream" : one_line(std::string(said));
}

std::string upload_message(const Outgoing& call, std::string_view bytes) {
  auto message = new_message(call.binding->method->input_type());
  message->GetReflection()->SetString(message.get(), message->GetDescriptor()->FindFieldByName("data"),
                                      std::string(bytes));
  return message->SerializeAsString();
}

}  // namespace drover::api
