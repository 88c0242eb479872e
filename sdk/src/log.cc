#include "drover/log.h"

#include <atomic>
#include <cstdio>

namespace drover::log {
namespace {

std::atomic<Sink*> current_sink{nullptr};
std::atomic<Level> current_level{Level::info};

}  // namespace

std::string_view to_string(Level level) {
  switch (level) {
    case Level::trace:
      return "TRACE";
    case Level::debug:
      return "DEBUG";
    case Level::info:
      return "INFO";
    case Level::warn:
      return "WARN";
    case Level::error:
      return "ERROR";
  }
  return "INFO";
}

Sink* set_sink(Sink* sink) { return current_sink.exchange(sink); }
void set_level(Level level) { current_level = level; }
bool enabled(Level level) { return level >= current_level.load(std::memory_order_relaxed); }

void write(Level level, std::string_view component, std::string_view sentence, std::initializer_list<Field> fields) {
  if (!enabled(level)) return;
  if (Sink* sink = current_sink.load(std::memory_order_acquire)) {
    sink->write(level, component, sentence, {fields.begin(), fields.size()});
    return;
  }
  std::string line = std::string(to_string(level)) + " " + std::string(component) + ": " + std::string(sentence);
  for (const Field& field : fields) line += " " + std::string(field.name) + "=" + field.value;
  line += '\n';
  std::fwrite(line.data(), 1, line.size(), stderr);
}

}  // namespace drover::log
