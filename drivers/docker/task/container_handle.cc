#include "task/container_handle.h"

#include <algorithm>
#include <nlohmann/json.hpp>

namespace drover::docker {
namespace {

using Json = nlohmann::json;

constexpr int kVersion = 1;

bool is_id(const std::string& id) {
  return !id.empty() &&
         std::ranges::all_of(id, [](char c) { return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f'); });
}

}  // namespace

std::string write_handle(const ContainerHandle& handle) {
  return Json{{"version", kVersion},
              {"container", handle.container},
              {"image", handle.image},
              {"started_ns", handle.started_ns},
              {"port_map", handle.port_map}}
      .dump();
}

std::optional<ContainerHandle> read_handle(std::string_view text) {
  const Json json = Json::parse(text, nullptr, false);
  if (!json.is_object() || !json.contains("version") || json["version"] != kVersion) return std::nullopt;
  for (const char* name : {"container", "image"}) {
    if (!json.contains(name) || !json[name].is_string()) return std::nullopt;
  }
  ContainerHandle out{
      .container = json["container"].get<std::string>(), .image = json["image"].get<std::string>(), .port_map = {}};
  if (!is_id(out.container)) return std::nullopt;
  if (json.contains("started_ns") && json["started_ns"].is_number_integer())
    out.started_ns = json["started_ns"].get<int64_t>();
  if (json.contains("port_map") && json["port_map"].is_object()) {
    for (const auto& [label, port] : json["port_map"].items()) {
      if (port.is_number_integer()) out.port_map[label] = port.get<int>();
    }
  }
  return out;
}

}  // namespace drover::docker
