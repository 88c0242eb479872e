// Structured logging for the kernel and for every plugin.
//
//   log::info("raft", "became leader", {{"term", term}, {"index", index}});
//
// Component, a constant sentence, fields. The sentence never contains values, so it can be searched and counted.
// Levels: error, someone must act; warn, it healed but is worth knowing; info, a long-lived thing changed state;
// debug, decisions; trace, messages. Never log secrets, tokens, environment values or rendered templates.
// Any thread may log. Lines written before a sink is set go to standard error.
#pragma once

#include <concepts>
#include <cstdint>
#include <functional>
#include <initializer_list>
#include <memory>
#include <span>
#include <string>
#include <string_view>

namespace drover::log {

enum class Level : uint8_t { trace, debug, info, warn, error };

std::string_view to_string(Level level);

struct Field {
  std::string_view name;  // a literal
  std::string value;

  Field(std::string_view n, std::string_view v) : name(n), value(v) {}
  Field(std::string_view n, const std::string& v) : name(n), value(v) {}
  Field(std::string_view n, const char* v) : name(n), value(v) {}
  Field(std::string_view n, bool v) : name(n), value(v ? "true" : "false") {}
  Field(std::string_view n, std::integral auto v) : name(n), value(std::to_string(v)) {}
  Field(std::string_view n, std::floating_point auto v) : name(n), value(std::to_string(v)) {}
};

// Where lines go. The kernel owns the only product implementation. [any]
class Sink {
 public:
  virtual ~Sink() = default;
  virtual void write(Level level, std::string_view component, std::string_view sentence,
                     std::span<const Field> fields) = 0;
};

// Sets the process's sink and returns the former one. The sink must outlive its use; null means standard error.
Sink* set_sink(Sink* sink);

// One line as people and tools read it, without a line end: the time, the level, component, sentence, fields; or a JSON
// object. Values that could be misread are quoted, and what a terminal would act on is escaped.
std::string format(int64_t wall_ns, Level level, std::string_view component, std::string_view sentence,
                   std::span<const Field> fields, bool json);

// Also hands every line from `level` up to `receive`, from any thread, until it is destroyed. `receive` must not log
// and must not block.
class Tap {
 public:
  using Receive = std::function<void(Level level, std::string_view component, std::string_view sentence,
                                     std::span<const Field> fields)>;
  Tap(Level level, Receive receive);
  ~Tap();
  Tap(const Tap&) = delete;
  Tap& operator=(const Tap&) = delete;

 private:
  struct Entry;
  std::shared_ptr<Entry> entry_;
};

// Lines below this level are dropped before their fields are looked at, unless a tap wants them.
void set_level(Level level);
bool enabled(Level level);

void write(Level level, std::string_view component, std::string_view sentence, std::span<const Field> fields);
inline void write(Level level, std::string_view component, std::string_view sentence,
                  std::initializer_list<Field> fields) {
  write(level, component, sentence, std::span<const Field>(fields.begin(), fields.size()));
}

inline void trace(std::string_view c, std::string_view s, std::initializer_list<Field> f = {}) {
  write(Level::trace, c, s, f);
}
inline void debug(std::string_view c, std::string_view s, std::initializer_list<Field> f = {}) {
  write(Level::debug, c, s, f);
}
inline void info(std::string_view c, std::string_view s, std::initializer_list<Field> f = {}) {
  write(Level::info, c, s, f);
}
inline void warn(std::string_view c, std::string_view s, std::initializer_list<Field> f = {}) {
  write(Level::warn, c, s, f);
}
inline void error(std::string_view c, std::string_view s, std::initializer_list<Field> f = {}) {
  write(Level::error, c, s, f);
}

}  // namespace drover::log
