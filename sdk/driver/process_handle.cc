#include "process_handle.h"

#include <charconv>
#include <nlohmann/json.hpp>

namespace drover {
namespace {

using Json = nlohmann::json;

constexpr int kVersion = 1;

std::optional<ProcessHandle> read_older(std::string_view text) {
  ProcessHandle handle;
  const char* const end = text.data() + text.size();
  auto parsed = std::from_chars(text.data(), end, handle.process.pid);
  if (parsed.ec != std::errc() || parsed.ptr == end || *parsed.ptr != ':') return std::nullopt;
  parsed = std::from_chars(parsed.ptr + 1, end, handle.process.start_time);
  if (parsed.ec != std::errc() || parsed.ptr != end) return std::nullopt;
  return handle;
}

std::optional<ProcessHandle> read_object(const Json& json) {
  for (const char* number : {"version", "pid", "start_time", "started_at"}) {
    if (!json.contains(number) || !json[number].is_number_integer()) return std::nullopt;
  }
  if (json["version"] != kVersion) return std::nullopt;
  ProcessHandle handle;
  handle.process = {.pid = json["pid"].get<int>(),
                    .start_time = json["start_time"].get<uint64_t>(),
                    .started_at = json["started_at"].get<int64_t>()};
  for (const auto& [name, value] : json.items()) {
    if (value.is_string()) handle.isolation[name] = value.get<std::string>();
  }
  handle.launcher = handle.isolation["launcher"];
  handle.isolation.erase("launcher");
  return handle;
}

}  // namespace

std::string write_handle(const ProcessHandle& handle) {
  Json json{{"version", kVersion},
            {"pid", handle.process.pid},
            {"start_time", handle.process.start_time},
            {"started_at", handle.process.started_at},
            {"launcher", handle.launcher}};
  for (const auto& [name, state] : handle.isolation) json[name] = state;
  return json.dump();
}

std::optional<ProcessHandle> read_handle(std::string_view text) {
  const Json json = Json::parse(text, nullptr, false);
  std::optional<ProcessHandle> handle = json.is_object() ? read_object(json) : read_older(text);
  if (handle && handle->process.pid <= 1) return std::nullopt;
  return handle;
}

}  // namespace drover
