#include "output.h"

#include <algorithm>
#include <chrono>
#include <nlohmann/json.hpp>

#include "drover/time.h"

namespace drover::cli {

std::string format_list(const std::vector<std::vector<std::string>>& rows) {
  std::vector<size_t> widths;
  for (const auto& row : rows) {
    widths.resize(std::max(widths.size(), row.size()));
    for (size_t i = 0; i < row.size(); ++i) widths[i] = std::max(widths[i], row[i].empty() ? 6 : row[i].size());
  }
  std::string out;
  for (const auto& row : rows) {
    std::string line;
    for (size_t i = 0; i < row.size(); ++i) {
      std::string cell = row[i].empty() ? "<none>" : row[i];
      if (i + 1 < row.size()) cell.resize(std::max(cell.size(), widths[i]) + 2, ' ');
      line += cell;
    }
    out += line + "\n";
  }
  return out;
}

std::string format_pairs(const std::vector<std::pair<std::string, std::string>>& pairs) {
  size_t width = 0;
  for (const auto& [key, value] : pairs) width = std::max(width, key.size());
  std::string out;
  for (const auto& [key, value] : pairs) {
    out += key + std::string(width - key.size(), ' ') + " = " + (value.empty() ? "<none>" : value) + "\n";
  }
  return out;
}

std::string short_id(std::string_view id, bool verbose) { return std::string(verbose ? id : id.substr(0, 8)); }

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

const nlohmann::json& member(const nlohmann::json& object, std::string_view key) {
  static const nlohmann::json kNull;
  if (!object.is_object()) return kNull;
  auto at = object.find(key);
  return at == object.end() ? kNull : *at;
}

std::string text(const nlohmann::json& object, std::string_view key) {
  const auto& value = member(object, key);
  if (value.is_string()) return value.get<std::string>();
  if (value.is_null()) return {};
  return value.dump();
}

int64_t number(const nlohmann::json& object, std::string_view key) {
  const auto& value = member(object, key);
  return value.is_number() ? value.get<int64_t>() : 0;
}

}  // namespace drover::cli
