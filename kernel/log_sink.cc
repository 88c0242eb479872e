#include "kernel/log_sink.h"

#include <spdlog/sinks/basic_file_sink.h>
#include <spdlog/sinks/rotating_file_sink.h>
#include <spdlog/sinks/stdout_sinks.h>
#include <spdlog/spdlog.h>

#include <filesystem>
#include <nlohmann/json.hpp>

#include "drover/clock.h"
#include "drover/time.h"

namespace drover {
namespace {

// Quotes a value that could be taken for more than one, and hides what a terminal would act on.
std::string printable(const std::string& value) {
  const bool plain = !value.empty() && value.find_first_of(" \t\n\r\"=\x1b") == std::string::npos;
  if (plain) return value;
  return nlohmann::json(value).dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
}

class SpdlogSink final : public log::Sink {
 public:
  SpdlogSink(std::vector<spdlog::sink_ptr> sinks, bool json)
      : logger_("drover", sinks.begin(), sinks.end()), json_(json) {
    logger_.set_pattern("%v");
    logger_.set_level(spdlog::level::trace);
    logger_.flush_on(spdlog::level::info);
  }
  void write(log::Level level, std::string_view component, std::string_view sentence,
             std::span<const log::Field> fields) override {
    static constexpr spdlog::level::level_enum kLevels[] = {
        spdlog::level::trace, spdlog::level::debug, spdlog::level::info, spdlog::level::warn, spdlog::level::err};
    logger_.log(kLevels[static_cast<size_t>(level)],
                format_log_line(clock_.wall_ns(), level, component, sentence, fields, json_));
  }

 private:
  spdlog::logger logger_;
  const bool json_;
  SystemClock clock_;
};

}  // namespace

std::string format_log_line(int64_t wall_ns, log::Level level, std::string_view component, std::string_view sentence,
                            std::span<const log::Field> fields, bool json) {
  const int64_t millisecond = 1'000'000;
  const std::string time = format_time(wall_ns / millisecond * millisecond);
  if (json) {
    nlohmann::ordered_json line = {
        {"@timestamp", time}, {"@level", log::to_string(level)}, {"@module", component}, {"@message", sentence}};
    for (const log::Field& field : fields) line[std::string(field.name)] = field.value;
    return line.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
  }
  std::string line =
      time + " [" + std::string(log::to_string(level)) + "] " + std::string(component) + ": " + std::string(sentence);
  for (const log::Field& field : fields) line += " " + std::string(field.name) + "=" + printable(field.value);
  return line;
}

Result<std::unique_ptr<log::Sink>> make_log_sink(const LogOptions& options) {
  std::vector<spdlog::sink_ptr> sinks;
  if (options.to_stderr) sinks.push_back(std::make_shared<spdlog::sinks::stderr_sink_mt>());
  if (!options.file.empty()) {
    std::string path = options.file;
    std::error_code ignored;
    if (path.ends_with('/') || std::filesystem::is_directory(path, ignored)) path += "/drover.log";
    try {
      if (options.rotate_bytes > 0) {
        sinks.push_back(std::make_shared<spdlog::sinks::rotating_file_sink_mt>(
            path, options.rotate_bytes, options.max_files > 0 ? static_cast<size_t>(options.max_files) : 100));
      } else {
        sinks.push_back(std::make_shared<spdlog::sinks::basic_file_sink_mt>(path));
      }
    } catch (const spdlog::spdlog_ex& problem) {
      return permission_denied("log_file " + path + ": " + problem.what());
    }
  }
  return std::unique_ptr<log::Sink>(std::make_unique<SpdlogSink>(std::move(sinks), options.json));
}

}  // namespace drover
