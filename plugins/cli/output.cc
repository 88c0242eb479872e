#include "output.h"

#include <algorithm>
#include <chrono>

#include "drover/printable.h"
#include "drover/time.h"
#include "drover/uuid.h"

namespace drover::cli {

namespace {

// Names and descriptions may be anybody's: a job's author's, a plugin's.
std::string as_cell(const std::string& text) { return text.empty() ? "<none>" : printable(text); }

// In characters: the bytes that begin one.
size_t width_of(std::string_view text) {
  return static_cast<size_t>(std::ranges::count_if(text, [](char c) { return (c & 0xc0) != 0x80; }));
}

std::string padded(std::string text, size_t width) {
  const size_t own = width_of(text);
  return own < width ? text.append(width - own, ' ') : text;
}

}  // namespace

const std::vector<std::string> kAllocColumns = {"ID",      "Node ID", "Task Group", "Version",
                                                "Desired", "Status",  "Created",    "Modified"};

std::string format_list(const std::vector<std::vector<std::string>>& rows) {
  std::vector<size_t> widths;
  for (const auto& row : rows) {
    widths.resize(std::max(widths.size(), row.size()));
    for (size_t i = 0; i < row.size(); ++i) widths[i] = std::max(widths[i], width_of(as_cell(row[i])));
  }
  std::string out;
  for (const auto& row : rows) {
    for (size_t i = 0; i < row.size(); ++i) {
      out += i + 1 < row.size() ? padded(as_cell(row[i]), widths[i] + 2) : as_cell(row[i]);
    }
    out += "\n";
  }
  return out;
}

std::string format_pairs(const std::vector<std::pair<std::string, std::string>>& pairs) {
  size_t width = 0;
  for (const auto& [key, value] : pairs) width = std::max(width, width_of(printable(key)));
  std::string out;
  for (const auto& [key, value] : pairs) out += padded(printable(key), width) + " = " + as_cell(value) + "\n";
  return out;
}

std::string id_text(std::string_view bytes, bool is_whole) {
  const std::string text = bytes.empty() ? std::string() : Uuid::from_bytes(bytes).to_string();
  return is_whole ? text : text.substr(0, 8);
}

std::string relative_time(int64_t when_ns, int64_t now) {
  const int64_t difference = now - when_ns;
  int64_t seconds = std::abs(difference) / 1'000'000'000;
  struct Unit {
    int64_t seconds;
    const char* name;
  };
  static constexpr Unit kUnits[] = {{365 * 86400, "y"}, {30 * 86400, "mo"}, {86400, "d"},
                                    {3600, "h"},        {60, "m"},          {1, "s"}};
  std::string text;
  int shown = 0;
  for (const Unit& unit : kUnits) {
    if (seconds < unit.seconds && shown == 0 && unit.seconds != 1) continue;
    text += std::to_string(seconds / unit.seconds) + unit.name;
    seconds %= unit.seconds;
    if (++shown == 2) break;
  }
  return text + (difference >= 0 ? " ago" : " from now");
}

std::string full_time(int64_t when_ns) { return format_time(when_ns / 1'000'000'000 * 1'000'000'000); }

int64_t now_ns() {
  return std::chrono::duration_cast<std::chrono::nanoseconds>(std::chrono::system_clock::now().time_since_epoch())
      .count();
}

}  // namespace drover::cli
