// The `config` block of a task as a driver reads it: every option is asked for once, by name and type, and finish()
// then tells what was wrong, with the option's name, and which options nobody asked for.
//
//   DROVER_TRY(TaskOptions options, TaskOptions::from_msgpack(config.msgpack_driver_config()));
//   std::string command = options.text("command");
//   DROVER_RETURN_IF_ERROR(options.finish());
//
// Owned by one call; not shared between threads.
#pragma once

#include <chrono>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "drover/result.h"

namespace drover {

class TaskOptions {
 public:
  // Errors: invalid_argument when the bytes are not one map. No bytes at all is an empty block.
  static Result<TaskOptions> from_msgpack(std::string_view bytes);
  static Result<TaskOptions> from_json(std::string_view text);
  // The same block as from_msgpack takes it. Errors: invalid_argument when the text is not one object.
  static Result<std::string> to_msgpack(std::string_view json);

  ~TaskOptions();
  TaskOptions(TaskOptions&&) noexcept;
  TaskOptions& operator=(TaskOptions&&) noexcept;

  // False: it is absent or null.
  bool has(std::string_view option);
  // An absent or null option gives `fallback`; a value of another type is remembered for finish(). Numbers and booleans
  // are accepted as text and the other way round, as in a job file.
  std::string text(std::string_view option, std::string fallback = {});
  int64_t integer(std::string_view option, int64_t fallback = 0);
  bool boolean(std::string_view option, bool fallback = false);
  // "1h30m", or a number of nanoseconds.
  std::chrono::nanoseconds duration(std::string_view option, std::chrono::nanoseconds fallback = {});
  std::vector<std::string> text_list(std::string_view option);
  // A block, or several as one, of whole numbers under names of the writer's.
  std::map<std::string, int64_t> integer_map(std::string_view option);
  // A block inside this one, with a finish() of its own; nothing when it is not there.
  std::optional<TaskOptions> block(std::string_view option);

  // Errors: invalid_argument with the first problem, or with an option nobody asked for and the nearest known one.
  Status finish() const;

 private:
  struct Values;
  explicit TaskOptions(std::unique_ptr<Values> values);
  std::unique_ptr<Values> values_;
};

}  // namespace drover
