#include "drover/log.h"

#include <algorithm>
#include <atomic>
#include <cstdio>
#include <mutex>
#include <nlohmann/json.hpp>
#include <shared_mutex>
#include <vector>

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
  std::shared_mutex mutex;
  std::vector<std::pair<Level, const Tap::Receive*>> list;  // guarded by mutex
};
Taps& taps() {
  static Taps* const instance = new Taps;  // outlives every static object that still logs
  return *instance;
}

void update_lowest() {
  Level lowest = current_level;
  for (const auto& [level, receive] : taps().list) lowest = std::min(lowest, level);
  lowest_level = lowest;
}

std::string printable(const std::string& value) {
  const bool plain = !value.empty() && value.find_first_of(" \t\n\r\"=\x1b") == std::string::npos;
  if (plain) return value;
  return nlohmann::json(value).dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
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
  constexpr int64_t kMillisecond = 1'000'000;
  const std::string time = format_time(wall_ns / kMillisecond * kMillisecond);
  if (json) {
    nlohmann::ordered_json line = {
        {"@timestamp", time}, {"@level", to_string(level)}, {"@module", component}, {"@message", sentence}};
    for (const Field& field : fields) line[std::string(field.name)] = field.value;
    return line.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
  }
  std::string line =
      time + " [" + std::string(to_string(level)) + "] " + std::string(component) + ": " + std::string(sentence);
  for (const Field& field : fields) line += " " + std::string(field.name) + "=" + printable(field.value);
  return line;
}

Tap::Tap(Level level, Receive receive) : entry_(std::make_shared<Entry>(Entry{level, std::move(receive)})) {
  std::unique_lock lock(taps().mutex);
  taps().list.emplace_back(level, &entry_->receive);
  update_lowest();
}

Tap::~Tap() {
  std::unique_lock lock(taps().mutex);
  std::erase_if(taps().list, [this](const auto& tap) { return tap.second == &entry_->receive; });
  update_lowest();
}

Sink* set_sink(Sink* sink) { return current_sink.exchange(sink); }

void set_level(Level level) {
  std::unique_lock lock(taps().mutex);
  current_level = level;
  update_lowest();
}

bool enabled(Level level) { return level >= lowest_level.load(std::memory_order_relaxed); }

void write(Level level, std::string_view component, std::string_view sentence, std::span<const Field> fields) {
  if (!enabled(level)) return;
  {
    std::shared_lock lock(taps().mutex);
    for (const auto& [wanted, receive] : taps().list) {
      if (level >= wanted) (*receive)(level, component, sentence, fields);
    }
  }
  if (level < current_level.load(std::memory_order_relaxed)) return;
  if (Sink* sink = current_sink.load(std::memory_order_acquire)) {
    sink->write(level, component, sentence, fields);
    return;
  }
  std::string line = std::string(to_string(level)) + " " + std::string(component) + ": " + std::string(sentence);
  for (const Field& field : fields) line += " " + std::string(field.name) + "=" + printable(field.value);
  line += '\n';
  std::fwrite(line.data(), 1, line.size(), stderr);
}

}  // namespace drover::log
