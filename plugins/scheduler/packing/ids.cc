#include "packing/ids.h"

#include <utility>

#include "drover/sha256.h"

namespace drover::scheduler::packing {
namespace {

constexpr size_t kIdSize = 16;
constexpr size_t kCounted = 4;  // bytes that advance
// Odd, so that all numbers come before one comes again; the golden ratio, so that they lie far apart. Its inverse leads
// back. Log entries depend on it: it stays as it is.
constexpr uint32_t kStep = 0x9e3779b1;
constexpr uint32_t kInverse = 0x0e8b2f51;
static_assert(kStep * kInverse == 1U);

uint32_t counted(std::string_view id) {
  uint32_t number = 0;
  for (const char byte : id.substr(0, kCounted)) number = number << 8U | static_cast<uint8_t>(byte);
  return number;
}

}  // namespace

std::string id_after(std::string_view id, uint32_t steps) {
  std::string next(id);
  uint32_t number = counted(id) + steps * kStep;
  for (size_t i = kCounted; i-- > 0; number >>= 8U) next[i] = static_cast<char>(number);
  return next;
}

uint32_t ordinal_of(std::string_view id) { return counted(id) * kInverse; }

std::string_view tail_of(std::string_view id) { return id.substr(kCounted); }

std::optional<uint32_t> steps_between(std::string_view id, std::string_view later) {
  if (id.size() != kIdSize || later.size() != kIdSize || id.substr(kCounted) != later.substr(kCounted)) {
    return std::nullopt;
  }
  return ordinal_of(later) - ordinal_of(id);
}

std::string rest_of(std::string_view eval_id) {
  std::string rest = sha256(eval_id).substr(0, kIdSize - kChanceBytes);
  rest[0] = static_cast<char>((rest[0] & 0x0f) | 0x40);  // RFC 9562 4.1 and 4.2: as if all were by chance
  rest[2] = static_cast<char>((rest[2] & 0x3f) | 0x80);
  return rest;
}

std::function<std::string()> ids_from(std::string first) {
  return [next = std::move(first)]() mutable { return std::exchange(next, id_after(next)); };
}

}  // namespace drover::scheduler::packing
