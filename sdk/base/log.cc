#include "drover/log.h"

#include <algorithm>
#include <array>
#include <atomic>
#include <cstdio>
#include <nlohmann/json.hpp>
#include <vector>

#include "drover/mutex.h"
#include "drover/printable.h"
#include "drover/time.h"

namespace drover::log {

struct Tap::Entry {
  Level level;
  Receive receive;
};

namespace {

std::atomic<Sink*> current_sink{nullptr};
std::atomic<Level> current_level{Level::info};  // of the sink
std::atomic<Level> lowest_level{Level::info};   // of the sink and all taps

// Readers are the lines being written; a tap's destructor waits for them.
struct Taps {
  SharedMutex mutex;
  std::vector<std::pair<Level, const Tap::Receive*>> list DROVER_GUARDED_BY(mutex);
};
Taps& taps() {
  static Taps* const instance = new Taps;  // outlives every static object that still logs
  return *instance;
}

void update_lowest() DROVER_REQUIRES(taps().mutex) {
  Level lowest = current_level;
  for (const auto& [level, receive] : taps().list) lowest = std::min(lowest, level);
  lowest_level = lowest;
}

std::string as_json(const nlohmann::ordered_json& value) {
  return printable(value.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace));
}

std::string as_value(const std::string& value) {
  const bool is_plain = !value.empty() && value.find_first_of(" \"=") == std::string::npos && printable(value) == value;
  return is_plain ? value : as_json(value);
}

std::string as_text(std::string_view component, std::string_view sentence, std::span<const Field> fields) {
  std::string text = printable(component) + ": " + printable(sentence);
  for (const Field& field : fields) text += " " + printable(field.name) + "=" + as_value(field.value);
  return text;
}

// To the millisecond, always of the same width.
std::string as_time(int64_t wall_ns) {
  constexpr int64_t kMillisecond = 1'000'000;
  constexpr int64_t kSecond = 1000 * kMillisecond;
  std::string time = format_time(wall_ns / kSecond * kSecond);
  std::array<char, 8> fraction{};
  std::snprintf(fraction.data(), fraction.size(), ".%03d", static_cast<int>(wall_ns % kSecond / kMillisecond));
  return time.insert(time.size() - 1, fraction.data());
}

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

std::string format(int64_t wall_ns, Level level, std::string_view component, std::string_view sentence,
                   std::span<const Field> fields, bool json) {
  if (json) {
    nlohmann::ordered_json line = {
        {"@timestamp", as_time(wall_ns)}, {"@level", to_string(level)}, {"@module", component}, {"@message", sentence}};
    for (const Field& field : fields) line[std::string(field.name)] = field.value;
    return as_json(line);
  }
  std::string column = "[" + std::string(to_string(level)) + "]";
  column.resize(sizeof("[ERROR] ") - 1, ' ');
  return as_time(wall_ns) + " " + column + as_text(component, sentence, fields);
}

Tap::Tap(Level level, Receive receive) : entry_(std::make_shared<Entry>(Entry{level, std::move(receive)})) {
  const WriterLock lock(taps().mutex);
  taps().list.emplace_back(level, &entry_->receive);
  update_lowest();
}

Tap::~Tap() {
  const WriterLock lock(taps().mutex);
  std::erase_if(taps().list, [this](const auto& tap) { return tap.second == &entry_->receive; });
  update_lowest();
}

Sink* set_sink(Sink* sink) { return current_sink.exchange(sink); }

void set_level(Level level) {
  const WriterLock lock(taps().mutex);
  current_level = level;
  update_lowest();
}

bool enabled(Level level) { return level >= lowest_level.load(std::memory_order_relaxed); }

void write(Level level, std::string_view component, std::string_view sentence, std::span<const Field> fields) {
  if (!enabled(level)) return;
  {
    const ReaderLock lock(taps().mutex);
    for (const auto& [wanted, receive] : taps().list) {
      if (level >= wanted) (*receive)(level, component, sentence, fields);
    }
  }
  if (level < current_level.load(std::memory_order_relaxed)) return;
  if (Sink* sink = current_sink.load(std::memory_order_acquire)) {
    sink->write(level, component, sentence, fields);
    return;
  }
  const std::string line = std::string(to_string(level)) + " " + as_text(component, sentence, fields) + "\n";
  std::fwrite(line.data(), 1, line.size(), stderr);
}

}  // namespace drover::log
