// Reads the members of a configuration that came as msgpack by a schema: absent and null are the same, and the first
// member of a wrong type, or that nobody asked for, is told at the end.
//
//   DROVER_TRY(Fields fields, Fields::from_msgpack(bytes));
//   std::string image = fields.text("image");
//   DROVER_RETURN_IF_ERROR(fields.finish());
//
// One thread.
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

namespace drover::docker {

class Fields {
 public:
  // No bytes at all are an object without members. Errors: invalid_argument for what is no object.
  static Result<Fields> from_msgpack(std::string_view bytes);
  ~Fields();
  Fields(Fields&&) noexcept;

  std::string text(const std::string& name, std::string fallback = {});
  int64_t integer(const std::string& name, int64_t fallback = 0);
  bool boolean(const std::string& name, bool fallback = false);
  std::optional<bool> maybe_boolean(const std::string& name);
  // "1h30m".
  std::chrono::nanoseconds duration(const std::string& name, std::chrono::nanoseconds fallback);
  std::vector<std::string> texts(const std::string& name);
  std::optional<std::vector<std::string>> maybe_texts(const std::string& name);
  std::map<std::string, std::string> map(const std::string& name);
  // Blocks, each with a finish() of its own.
  std::optional<Fields> block(const std::string& name);
  std::vector<Fields> blocks(const std::string& name);

  // Errors: invalid_argument naming the option.
  Status finish() const;

 private:
  struct Members;
  explicit Fields(std::unique_ptr<Members> members);
  std::unique_ptr<Members> members_;
};

}  // namespace drover::docker
