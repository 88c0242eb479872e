#include "engine/engine.h"

#include <algorithm>
#include <charconv>
#include <nlohmann/json.hpp>

#include "drover/printable.h"

namespace drover::docker {
namespace {

constexpr int kNewestMinor = 44;  // of version 1: what this client was written for
constexpr size_t kShownText = 400;
constexpr size_t kErrorLimit = 64 * 1024;

Code code_of(int status) {
  switch (status) {
    case 400:
      return Code::invalid_argument;
    case 401:
    case 403:
      return Code::permission_denied;
    case 404:
      return Code::not_found;
    case 409:
      return Code::failed_precondition;
    case 501:
      return Code::unimplemented;
    case 503:
      return Code::unavailable;
    default:
      return Code::internal;
  }
}

bool is_good(int status) { return (status >= 200 && status < 300) || status == 304 || status == 101; }

}  // namespace

Result<std::string> socket_of(const std::string& endpoint) {
  constexpr std::string_view kScheme = "unix://";
  std::string path = endpoint.starts_with(kScheme) ? endpoint.substr(kScheme.size()) : endpoint;
  if (path.starts_with('/')) return path;
  return invalid_argument("the engine's address \"" + endpoint +
                          "\" is none that can be used: only Unix sockets are, as in \"unix:///var/run/docker.sock\"");
}

std::string percent_encode(std::string_view text) {
  constexpr std::string_view kHex = "0123456789ABCDEF";
  std::string out;
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    const bool is_plain = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
                          std::string_view("-._~").find(c) != std::string_view::npos;
    if (is_plain) {
      out += c;
    } else {
      out += {'%', kHex[byte >> 4], kHex[byte & 15]};
    }
  }
  return out;
}

std::string query(std::initializer_list<std::pair<std::string_view, std::string>> values) {
  std::string out;
  for (const auto& [name, value] : values) {
    if (value.empty()) continue;
    out += (out.empty() ? "?" : "&") + std::string(name) + "=" + percent_encode(value);
  }
  return out;
}

Status error_of(int status, std::string_view body) {
  const nlohmann::json json = nlohmann::json::parse(body, nullptr, false);
  std::string text;
  if (json.is_object() && json.contains("message") && json["message"].is_string()) {
    text = json["message"].get<std::string>();
  } else {
    text = std::string(body.substr(0, kShownText));
  }
  while (!text.empty() && (text.back() == '\n' || text.back() == ' ')) text.pop_back();
  if (text.empty()) text = "the engine answers with status " + std::to_string(status) + " and no reason";
  return {code_of(status), printable(text)};
}

std::string version_for(std::string_view offered) {
  if (!offered.starts_with("1.")) return {};
  offered.remove_prefix(2);
  int minor = 0;
  const auto read = std::from_chars(offered.data(), offered.data() + offered.size(), minor);
  if (read.ec != std::errc() || read.ptr != offered.data() + offered.size() || minor < 0) return {};
  return "v1." + std::to_string(std::min(minor, kNewestMinor));
}

Result<std::string> Engine::version(const Patience& patience) {
  {
    const MutexLock lock(mutex_);
    if (!version_.empty()) return version_;
  }
  DROVER_TRY(auto ping, Exchange::open(socket_, {.target = "/_ping"}, patience));
  std::string version = version_for(ping->header("Api-Version"));
  if (version.empty())
    return data_loss("what listens on " + socket_ + " does not say which version of the engine's API it speaks");
  const MutexLock lock(mutex_);
  version_ = version;
  return version;
}

Result<std::unique_ptr<Exchange>> Engine::open(Request request, const Patience& patience) {
  DROVER_TRY(const std::string spoken, version(patience));
  request.target = "/" + spoken + request.target;
  auto exchange = Exchange::open(socket_, request, patience);
  if (!exchange) {
    if (exchange.status().code() == Code::unavailable) {  // the next one there may be another engine
      const MutexLock lock(mutex_);
      version_.clear();
    }
    return exchange.status();
  }
  if (is_good((*exchange)->status())) return exchange;
  const auto body = (*exchange)->read_all(kErrorLimit, patience);
  return error_of((*exchange)->status(), body.value_or({}));
}

Result<std::string> Engine::call(const Request& request, const Patience& patience) {
  DROVER_TRY(auto exchange, open(request, patience));
  return exchange->read_all(kAnswerLimit, patience);
}

}  // namespace drover::docker
