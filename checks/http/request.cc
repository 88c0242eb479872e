#include "request.h"

#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>

#include "drover/check_provider.h"

#include "drover/v1/check_provider.pb.h"
#include "nomad/plugins/hclspec.pb.h"

namespace drover::check_http {
namespace {

using Json = nlohmann::json;

// The first words as Nomad's clients have them: services tell checks from visitors by it.
constexpr const char* kUserAgent = "Nomad/1.5.6 (drover)";

std::string text_of(const Json& options, const char* name, std::string fallback = {}) {
  const auto at = options.find(name);
  return at != options.end() && at->is_string() ? at->get<std::string>() : std::move(fallback);
}
bool is_set(const Json& options, const char* name) {
  const auto at = options.find(name);
  return at != options.end() && at->is_boolean() && at->get<bool>();
}

// A path with its query, and nothing in it that would end the line of the request.
std::string escape_path(std::string_view path) {
  constexpr std::string_view kDigits = "0123456789ABCDEF";
  std::string out;
  if (!path.starts_with('/')) out = "/";
  for (const char c : path.substr(0, path.find('#'))) {
    const auto byte = static_cast<unsigned char>(c);
    if (byte > ' ' && byte < 0x7f && c != '"' && c != '<' && c != '>' && c != '\\' && c != '^' && c != '`' &&
        c != '{' && c != '|' && c != '}') {
      out += c;
    } else {
      out += {'%', kDigits[byte >> 4], kDigits[byte & 15]};
    }
  }
  return out;
}

bool is_token(std::string_view text) {
  constexpr std::string_view kSigns = "!#$%&'*+-.^_`|~";
  return !text.empty() && std::ranges::all_of(text, [&](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
           kSigns.find(c) != std::string_view::npos;
  });
}

bool is_one(std::string_view name, std::string_view lower) {
  const auto small = [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c | 32) : c; };
  return std::ranges::equal(name, lower, {}, small);
}

Status add_headers(const Json& options, HttpRequest& request) {
  bool has_agent = false, has_type = false;
  const auto headers = options.find("header");
  if (headers != options.end() && headers->is_object()) {
    for (const auto& [name, values] : headers->items()) {
      if (!is_token(name)) return invalid_argument("header: \"" + name + "\" is no name of a header");
      has_agent = has_agent || is_one(name, "user-agent");
      has_type = has_type || is_one(name, "content-type");
      for (const Json& value : values) {
        const std::string text = value.is_string() ? value.get<std::string>() : std::string();
        if (std::ranges::any_of(text, [](char c) { return c == '\r' || c == '\n' || c == '\0'; }))
          return invalid_argument("header: the value of " + name + " holds the end of a line");
        // One without a value is written with a semicolon, for curl would leave it out.
        request.headers.push_back(text.empty() ? name + ";" : name + ": " + text);
      }
    }
  }
  if (!has_agent) request.headers.push_back(std::string("User-Agent: ") + kUserAgent);
  if (!has_type && !request.body.empty()) request.headers.emplace_back("Content-Type:");  // none
  request.headers.emplace_back("Expect:");
  return ok_status();
}

}  // namespace

hclspec::Spec options_schema() {
  return hclspec::object_of({{"path", "string", true, "", "Path of the request, with a query where it needs one."},
                             {"protocol", "string", false, "\"http\"", "http or https."},
                             {"method", "string", false, "\"GET\"", "Method of the request."},
                             {"header", "map(list(string))", false, "", "Headers, each with all its values."},
                             {"body", "string", false, "", "Body of the request."},
                             {"tls_server_name", "string", false, "", "The name that the certificate must have."},
                             {"tls_skip_verify", "bool", false, "false", "Takes any certificate."}});
}

Result<HttpRequest> request_of(const v1::RunCheckRequest& check) {
  const Json options = Json::from_msgpack(check.options().begin(), check.options().end(), true, false);
  if (!options.is_object()) return invalid_argument("the options are no map");
  const std::string protocol = text_of(options, "protocol", "http");
  if (protocol != "http" && protocol != "https")
    return invalid_argument("protocol must be http or https, not \"" + protocol + "\"");
  DROVER_TRY(const std::string place, check::place_of(check));
  HttpRequest request{.method = text_of(options, "method", "GET"),
                      .body = text_of(options, "body"),
                      .skip_verify = is_set(options, "tls_skip_verify")};
  if (!is_token(request.method)) return invalid_argument("method: \"" + request.method + "\" is no HTTP method");
  std::string host = place;
  const std::string name = text_of(options, "tls_server_name");
  if (protocol == "https" && !name.empty()) {
    if (name.find_first_of("/:@ \r\n") != std::string::npos)
      return invalid_argument("tls_server_name: \"" + name + "\" is no host name");
    host = name + ":" + std::to_string(check.port());
    request.connect_to = host + ":" + place;
  }
  request.url = protocol + "://" + host + escape_path(text_of(options, "path"));
  request.timeout = check::timeout_of(check);
  DROVER_RETURN_IF_ERROR(add_headers(options, request));
  return request;
}

v1::CheckResult judge(long code, std::string_view body) {
  v1::CheckResult result = code == 200  ? check::passing("nomad: http ok")
                           : code < 400 ? check::passing(check::cut_output(body))
                                        : check::critical(check::cut_output(body));
  result.set_code(static_cast<int32_t>(code));
  return result;
}

}  // namespace drover::check_http
