#include "kernel/log_sink.h"

#include <spdlog/sinks/basic_file_sink.h>
#include <spdlog/sinks/rotating_file_sink.h>
#include <spdlog/sinks/stdout_sinks.h>
#include <spdlog/spdlog.h>

#include <filesystem>

#include "drover/clock.h"

namespace drover {
namespace {

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
                log::format(clock_.wall_ns(), level, component, sentence, fields, json_));
  }

 private:
  spdlog::logger logger_;
  const bool json_;
  SystemClock clock_;
};

}  // namespace

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
