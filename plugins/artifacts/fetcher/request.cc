#include "fetcher/request.h"

#include <nlohmann/json.hpp>

namespace drover::artifacts {
namespace {

using nlohmann::json;
using Texts = std::map<std::string, std::string>;

}  // namespace

std::string Request::option(const std::string& name) const {
  const auto found = options.find(name);
  return found == options.end() ? std::string() : found->second;
}

std::string to_json(const Request& request) {
  const json object = {{"getter", request.getter},
                       {"url", request.url},
                       {"part", request.part},
                       {"options", request.options},
                       {"headers", request.headers},
                       {"mode", request.mode},
                       {"file_name", request.file_name},
                       {"scratch", request.scratch},
                       {"timeout_ms", request.timeout.count()},
                       {"most_bytes", request.most_bytes},
                       {"most_files", request.most_files},
                       {"most_unpacked_bytes", request.most_unpacked_bytes},
                       {"is_isolated", request.is_isolated},
                       {"is_insecure", request.is_insecure}};
  return object.dump(-1, ' ', false, json::error_handler_t::replace);
}

Result<Request> parse_request(std::string_view text) {
  const json object = json::parse(text, nullptr, false);
  if (!object.is_object()) return invalid_argument("the request is no JSON object");
  try {
    return Request{.getter = object.at("getter"),
                   .url = object.at("url"),
                   .part = object.at("part"),
                   .options = object.at("options").get<Texts>(),
                   .headers = object.at("headers").get<Texts>(),
                   .mode = object.at("mode"),
                   .file_name = object.at("file_name"),
                   .scratch = object.at("scratch"),
                   .timeout = std::chrono::milliseconds(object.at("timeout_ms").get<int64_t>()),
                   .most_bytes = object.at("most_bytes"),
                   .most_files = object.at("most_files"),
                   .most_unpacked_bytes = object.at("most_unpacked_bytes"),
                   .is_isolated = object.at("is_isolated"),
                   .is_insecure = object.at("is_insecure")};
  } catch (const json::exception& problem) {
    return invalid_argument(std::string("the request is wrong: ") + problem.what());
  }
}

std::string to_json(const Status& status) {
  const json object = {{"code", static_cast<int>(status.code())}, {"error", status.message()}};
  return object.dump(-1, ' ', false, json::error_handler_t::replace);
}

Status parse_answer(std::string_view text) {
  const json object = json::parse(text, nullptr, false);
  if (!object.is_object() || !object.contains("code") || !object["code"].is_number_integer() ||
      !object.contains("error") || !object["error"].is_string()) {
    return unavailable("the download ended without an answer");
  }
  const int code = object["code"];
  if (code == static_cast<int>(Code::ok)) return ok_status();
  if (code < 0 || code > static_cast<int>(Code::unimplemented)) return unavailable(object["error"].get<std::string>());
  return Status(static_cast<Code>(code), object["error"].get<std::string>());
}

}  // namespace drover::artifacts
