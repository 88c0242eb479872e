#include "packing/format.h"

#include <algorithm>

#include "packing/shape.h"
#include "packing/wire.h"

namespace drover::scheduler::packing {
namespace {

constexpr size_t kMostDigits = 9;

bool is_digit(char c) { return c >= '0' && c <= '9'; }

}  // namespace

std::optional<std::string> text_after(std::string_view text) {
  size_t end = text.size();
  while (end > 0 && !is_digit(text[end - 1])) --end;
  size_t begin = end;
  while (begin > 0 && is_digit(text[begin - 1])) --begin;
  const std::string_view digits = text.substr(begin, end - begin);
  if (digits.empty() || digits.size() > kMostDigits || (digits.size() > 1 && digits[0] == '0')) return std::nullopt;
  std::string next(text.substr(0, begin));
  next += std::to_string(std::stoul(std::string(digits)) + 1);
  next += text.substr(end);
  return next;
}

std::string_view first_text(std::string_view message) {
  Reader reader(message);
  const uint64_t tag = reader.number();
  if ((tag & 7U) != static_cast<uint64_t>(LeafKind::text)) return {};
  const std::string_view text = reader.text();
  return reader.ok() ? text : std::string_view();
}

}  // namespace drover::scheduler::packing
