#include "functions/time_layout.h"

#include <algorithm>
#include <array>
#include <ctime>
#include <utility>

namespace drover::templates {
namespace {

// Parts of a layout and the form of strftime for each; the longer ones first where one begins with another.
constexpr std::array<std::pair<std::string_view, const char*>, 26> kParts{{{"January", "%B"},
                                                                          {"Jan", "%b"},
                                                                          {"Monday", "%A"},
                                                                          {"Mon", "%a"},
                                                                          {"MST", "%Z"},
                                                                          {"2006", "%Y"},
                                                                          {"002", "%j"},
                                                                          {"01", "%m"},
                                                                          {"02", "%d"},
                                                                          {"03", "%I"},
                                                                          {"04", "%M"},
                                                                          {"05", "%S"},
                                                                          {"06", "%y"},
                                                                          {"15", "%H"},
                                                                          {"PM", "%p"},
                                                                          {"pm", "%P"},
                                                                          {"_2", "%e"},
                                                                          {"Z07:00", "Z:"},
                                                                          {"Z0700", "Z"},
                                                                          {"-07:00", ":"},
                                                                          {"-0700", "%z"},
                                                                          {"1", "%-m"},
                                                                          {"2", "%-d"},
                                                                          {"3", "%-I"},
                                                                          {"4", "%-M"},
                                                                          {"5", "%-S"}}};

std::string formatted(const std::tm& time, const char* form) {
  std::array<char, 64> text{};
  return {text.data(), std::strftime(text.data(), text.size(), form, &time)};
}

// "+02:00", or "Z" where the form allows it.
std::string offset(const std::tm& time, std::string_view form) {
  if (form.starts_with('Z') && time.tm_gmtoff == 0) return "Z";
  std::string text = formatted(time, "%z");
  if (form.ends_with(':')) text.insert(3, ":");
  return text;
}

// ".000" and ",999": digits behind the second; the nines leave zeros at the end out. Empty when it is none.
std::string fraction(std::string_view layout, int64_t ns, size_t& length) {
  if (layout.size() < 2 || (layout[0] != '.' && layout[0] != ',') || (layout[1] != '0' && layout[1] != '9')) return {};
  const size_t end = std::min(layout.find_first_not_of(layout[1], 1), layout.size());
  if (end < layout.size() && layout[end] >= '0' && layout[end] <= '9') return {};  // ".06" is a point and a year
  length = end;
  const size_t digits = std::min<size_t>(length - 1, 9);
  std::string text = std::to_string(1'000'000'000 + ns).substr(1, digits);
  if (layout[1] == '9') text.erase(text.find_last_not_of('0') + 1);
  return text.empty() ? std::string("") : layout[0] + text;
}

}  // namespace

std::string time_text(int64_t at_ns, std::string_view layout) {
  constexpr int64_t kSecond = 1'000'000'000;
  const int64_t ns = (at_ns % kSecond + kSecond) % kSecond;
  const std::time_t seconds = (at_ns - ns) / kSecond;
  std::tm time{};
  ::localtime_r(&seconds, &time);
  std::string out;
  while (!layout.empty()) {
    size_t length = 0;
    out += fraction(layout, ns, length);
    if (length == 0) {
      for (const auto& [part, form] : kParts) {
        if (!layout.starts_with(part)) continue;
        out += form[0] == '%' ? formatted(time, form) : offset(time, form);
        length = part.size();
        break;
      }
    }
    if (length == 0) out += layout[length++];
    layout.remove_prefix(length);
  }
  return out;
}

}  // namespace drover::templates
