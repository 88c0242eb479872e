#include "drover/plugin_programs/plugin_log.h"

#include <optional>

#include <nlohmann/json.hpp>

#include "../encoding/utf8.h"

namespace drover::plugin_programs {
namespace {

constexpr int kMaxDepth = 32;  // of values in a line; what lies deeper is left out

std::optional<log::Level> level_of(std::string_view name) {
  if (name == "trace" || name == "TRACE") return log::Level::trace;
  if (name == "debug" || name == "DEBUG") return log::Level::debug;
  if (name == "info" || name == "INFO") return log::Level::info;
  if (name == "warn" || name == "WARN") return log::Level::warn;
  if (name == "error" || name == "ERROR") return log::Level::error;
  return {};
}

std::string text_of(const nlohmann::json& value) {
  return value.is_string() ? value.get<std::string>()
                           : value.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
}

bool is_shallow(int depth, nlohmann::json::parse_event_t, nlohmann::json&) { return depth < kMaxDepth; }

std::optional<LogEntry> read_json(std::string_view line) {
  if (!line.starts_with('{')) return {};
  const auto json = nlohmann::json::parse(line.begin(), line.end(), is_shallow, false);
  if (!json.is_object() || !json.contains("@message")) return {};
  LogEntry entry;
  for (const auto& [name, value] : json.items()) {
    if (name == "@level") {
      entry.level = level_of(text_of(value)).value_or(log::Level::debug);
    } else if (name == "@message") {
      entry.message = text_of(value);
    } else if (name == "@timestamp") {
      entry.fields.emplace_back("timestamp", text_of(value));
    } else if (name == "@module") {
      entry.fields.emplace_back("module", text_of(value));
    } else {
      entry.fields.emplace_back(name, text_of(value));
    }
  }
  return entry;
}

}  // namespace

LogEntry LogReader::read(std::string_view line) {
  if (auto entry = read_json(line)) {
    is_panic_ = false;
    return *std::move(entry);
  }
  if (line.starts_with('[')) {
    const size_t end = line.find(']');
    const auto level = end == std::string_view::npos ? std::nullopt : level_of(line.substr(1, end - 1));
    if (level) {
      is_panic_ = false;
      line.remove_prefix(end + 1);
      if (line.starts_with(' ')) line.remove_prefix(1);
      return {.level = *level, .message = utf8::valid(line)};
    }
  }
  if (line.starts_with("panic: ") || line.starts_with("fatal error: ")) is_panic_ = true;
  return {.level = is_panic_ ? log::Level::error : log::Level::debug, .message = utf8::valid(line)};
}

}  // namespace drover::plugin_programs
