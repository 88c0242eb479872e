#include "files/tail.h"

#include <algorithm>
#include <charconv>
#include <utility>

#include "cli_command.h"

namespace drover::cli {
namespace {

constexpr uint64_t kLines = 10;          // without -n and -c
constexpr uint64_t kBytesPerLine = 120;  // enough for most; of longer lines fewer are shown
constexpr uint64_t kLeastBytes = 16384;
constexpr uint64_t kMostLines = UINT32_MAX;

// Nothing for -1, which says so.
Result<std::optional<uint64_t>> size_of(const Arguments& arguments, const std::string& flag) {
  const std::string text = arguments.value(flag);
  int64_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc() || end != text.data() + text.size() || number < -1)
    return invalid_argument("Invalid size is specified: -" + flag + "=" + text);
  return number < 0 ? std::optional<uint64_t>() : std::optional<uint64_t>(number);
}

}  // namespace

std::vector<Flag> tail_flags() {
  return {on_off("f", "Go on with what is still being written"), on_off("tail", "Only the end"),
          with_value("n", "-1", "Lines of the end; 10 where -tail stands alone"),
          with_value("c", "-1", "Bytes of the end")};
}

Result<std::optional<Tail>> tail_of(const Arguments& arguments) {
  DROVER_TRY(std::optional<uint64_t> lines, size_of(arguments, "n"));
  DROVER_TRY(const std::optional<uint64_t> bytes, size_of(arguments, "c"));
  if (lines && bytes) return invalid_argument("Both -n and -c are not allowed");
  if (bytes) return std::optional(Tail{.bytes = *bytes, .lines = {}});
  if (!lines && !arguments.on("tail")) return std::optional<Tail>();
  lines = std::min(lines.value_or(kLines), kMostLines);
  return std::optional(Tail{.bytes = std::max(*lines * kBytesPerLine, kLeastBytes), .lines = lines});
}

std::string last_lines(const std::string& text, uint64_t lines) {
  size_t at = text.size();
  if (lines == 0 || at == 0) return {};
  if (text[at - 1] == '\n') --at;
  for (; lines > 0; --lines) {
    if (at == 0) return text;
    at = text.rfind('\n', at - 1);
    if (at == std::string::npos) return text;
  }
  return text.substr(at + 1);
}

std::string LastLines::take(std::string_view bytes) {
  if (!lines_) return std::string(bytes);
  held_ += bytes;
  return {};
}

std::string LastLines::end() {
  if (!lines_) return {};
  return last_lines(std::exchange(held_, {}), *std::exchange(lines_, {}));
}

}  // namespace drover::cli
