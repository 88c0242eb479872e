// Numbers and texts of the packed form, and the reader that trusts none of them. Pure.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace drover::scheduler::packing {

// Seven bits a byte, the lowest first.
void put_number(std::string& to, uint64_t number);
// Eight bytes, the lowest first.
void put_fixed(std::string& to, uint64_t number);
// Its length and itself.
void put_text(std::string& to, std::string_view text);

// Small differences of either sign as small numbers.
constexpr uint64_t zigzag(uint64_t difference) { return (difference << 1U) ^ (0 - (difference >> 63U)); }
constexpr uint64_t unzigzag(uint64_t number) { return (number >> 1U) ^ (0 - (number & 1U)); }

// Reads zero or nothing for a value that is missing or wrong, and remembers that.
class Reader {
 public:
  explicit Reader(std::string_view bytes) : rest_(bytes) {}

  uint64_t number();
  uint64_t fixed();
  std::string_view text() { return take(number()); }
  std::string_view take(uint64_t length);
  uint8_t byte();

  bool is_at_end() const { return rest_.empty(); }
  bool ok() const { return ok_; }
  void fail() { ok_ = false; }

 private:
  std::string_view rest_;
  bool ok_ = true;
};

}  // namespace drover::scheduler::packing
