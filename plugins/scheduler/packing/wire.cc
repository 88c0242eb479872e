#include "packing/wire.h"

namespace drover::scheduler::packing {

void put_number(std::string& to, uint64_t number) {
  for (; number >= 0x80; number >>= 7U) to += static_cast<char>(number | 0x80U);
  to += static_cast<char>(number);
}

void put_fixed(std::string& to, uint64_t number) {
  for (unsigned shift = 0; shift < 64; shift += 8) to += static_cast<char>(number >> shift);
}

void put_text(std::string& to, std::string_view text) {
  put_number(to, text.size());
  to += text;
}

uint64_t Reader::number() {
  uint64_t number = 0;
  for (unsigned shift = 0; shift < 64; shift += 7) {
    const uint8_t next = byte();
    number |= static_cast<uint64_t>(next & 0x7fU) << shift;
    if ((next & 0x80U) == 0) return number;
  }
  fail();
  return 0;
}

uint64_t Reader::fixed() {
  uint64_t number = 0;
  for (unsigned shift = 0; shift < 64; shift += 8) number |= static_cast<uint64_t>(byte()) << shift;
  return number;
}

std::string_view Reader::take(uint64_t length) {
  if (length > rest_.size()) {
    fail();
    rest_ = {};
    return {};
  }
  const std::string_view taken = rest_.substr(0, length);
  rest_.remove_prefix(length);
  return taken;
}

uint8_t Reader::byte() {
  const std::string_view taken = take(1);
  return taken.empty() ? 0 : static_cast<uint8_t>(taken[0]);
}

}  // namespace drover::scheduler::packing
