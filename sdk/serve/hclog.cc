#include "hclog.h"

#include <unistd.h>

#include <array>
#include <cstdio>
#include <ctime>
#include <nlohmann/json.hpp>

#include "drover/clock.h"

namespace drover::serve {
namespace {

std::string_view level_name(log::Level level) {
  static constexpr std::array<std::string_view, 5> kNames = {"trace", "debug", "info", "warn", "error"};
  return kNames[static_cast<size_t>(level)];
}

// Readers demand exactly six digits behind the second.
std::string timestamp(int64_t wall_ns) {
  const time_t seconds = wall_ns / 1'000'000'000;
  const int micros = static_cast<int>(wall_ns % 1'000'000'000 / 1000);
  std::tm parts{};
  ::gmtime_r(&seconds, &parts);
  std::array<char, 64> text{};
  std::snprintf(text.data(), text.size(), "%04d-%02d-%02dT%02d:%02d:%02d.%06dZ", parts.tm_year + 1900, parts.tm_mon + 1,
                parts.tm_mday, parts.tm_hour, parts.tm_min, parts.tm_sec, micros);
  return text.data();
}

}  // namespace

std::string hclog_line(int64_t wall_ns, log::Level level, std::string_view component, std::string_view sentence,
                       std::span<const log::Field> fields) {
  nlohmann::ordered_json line = {{"@level", level_name(level)},
                                 {"@message", sentence},
                                 {"@module", component},
                                 {"@timestamp", timestamp(wall_ns)}};
  for (const log::Field& field : fields) line[std::string(field.name)] = field.value;
  return line.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace) + "\n";
}

void HclogSink::write(log::Level level, std::string_view component, std::string_view sentence,
                      std::span<const log::Field> fields) {
  const std::string line = hclog_line(SystemClock().wall_ns(), level, component, sentence, fields);
  (void)!::write(STDERR_FILENO, line.data(), line.size());
}

}  // namespace drover::serve
