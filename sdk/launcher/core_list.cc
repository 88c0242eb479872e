#include "drover/core_list.h"

#include <algorithm>
#include <charconv>
#include <iterator>
#include <optional>

#include "drover/trim.h"

namespace drover {
namespace {

constexpr uint32_t kMostCores = 8192;  // what Linux can be built for

std::optional<uint32_t> number(std::string_view text) {
  uint32_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size() || value >= kMostCores) return std::nullopt;
  return value;
}

}  // namespace

Result<CoreList> parse_core_list(std::string_view text) {
  CoreList cores;
  std::string_view left = trim(text);
  while (!left.empty()) {
    const size_t comma = std::min(left.find(','), left.size());
    const std::string_view part = trim(left.substr(0, comma));
    left.remove_prefix(std::min(left.size(), comma + 1));
    const size_t dash = part.find('-');
    const auto first = number(trim(part.substr(0, dash)));
    const auto last = dash == std::string_view::npos ? first : number(trim(part.substr(dash + 1)));
    if (!first || !last || *last < *first)
      return invalid_argument("\"" + std::string(part) + "\" is neither a core nor a range of cores such as 0-3");
    for (uint32_t core = *first; core <= *last; ++core) cores.push_back(core);
  }
  std::ranges::sort(cores);
  const auto twice = std::ranges::unique(cores);
  cores.erase(twice.begin(), twice.end());
  return cores;
}

std::string format_core_list(const CoreList& cores) {
  std::string text;
  for (size_t i = 0; i < cores.size();) {
    size_t end = i + 1;
    while (end < cores.size() && cores[end] == cores[end - 1] + 1) ++end;
    text += (text.empty() ? "" : ",") + std::to_string(cores[i]);
    if (end - i > 1) text += "-" + std::to_string(cores[end - 1]);
    i = end;
  }
  return text;
}

CoreList without(const CoreList& cores, const CoreList& others) {
  CoreList left;
  std::ranges::set_difference(cores, others, std::back_inserter(left));
  return left;
}

}  // namespace drover
