#include "packing/format.h"

#include <bit>
#include <cmath>

#include "drover/message_fields.h"
#include "drover/v1/evaluation.pb.h"
#include "packing/shape.h"
#include "packing/wire.h"

namespace drover::scheduler::packing {
namespace {

constexpr size_t kMostDigits = 9;

constexpr double kLargest = 9007199254740992.0;  // whole numbers up to here are exact

bool is_digit(char c) { return c >= '0' && c <= '9'; }

}  // namespace

std::optional<int64_t> whole(uint64_t bits) {
  const double scaled = std::bit_cast<double>(bits) * kWhole;
  if (!(std::abs(scaled) < kLargest)) return std::nullopt;
  const auto number = static_cast<int64_t>(scaled);
  return fraction_of(number) == bits ? std::optional(number) : std::nullopt;
}

uint64_t fraction_of(int64_t whole) { return std::bit_cast<uint64_t>(static_cast<double>(whole) / kWhole); }

std::string name_of(std::string_view job, std::string_view group, uint64_t index) {
  std::string name(job);
  return name.append(".").append(group).append("[").append(std::to_string(index)).append("]");
}

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

uint64_t indexes_until_change(std::string_view eval) {
  return number_field(eval, v1::Evaluation::kModifyIndexFieldNumber) -
         number_field(eval, v1::Evaluation::kCreateIndexFieldNumber);
}

int64_t time_of(std::string_view eval) {
  return static_cast<int64_t>(number_field(eval, v1::Evaluation::kModifyTimeFieldNumber));
}

std::string_view first_text(std::string_view message) {
  Reader reader(message);
  const uint64_t tag = reader.number();
  if ((tag & 7U) != static_cast<uint64_t>(LeafKind::text)) return {};
  const std::string_view text = reader.text();
  return reader.ok() ? text : std::string_view();
}

}  // namespace drover::scheduler::packing
