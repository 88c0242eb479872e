// The fields of a serialized message, one after the other, without decoding the message. For the library's own files.
#pragma once

#include <cstdint>
#include <string_view>

namespace drover {

enum class WireType : uint8_t { varint = 0, fixed64 = 1, bytes = 2, fixed32 = 5 };

struct WireField {
  uint32_t number = 0;
  WireType type = WireType::varint;
  uint64_t value = 0;           // of all types but bytes
  std::string_view bytes = {};  // of type bytes
};

// Reads a varint and moves `at` behind it. False where there is none before `end`.
inline bool read_varint(const char*& at, const char* end, uint64_t& value) {
  value = 0;
  for (unsigned shift = 0; shift < 70; shift += 7) {
    if (at == end) return false;
    const auto byte = static_cast<uint8_t>(*at++);
    if (shift < 64) value |= static_cast<uint64_t>(byte & 0x7f) << shift;
    if (byte < 0x80) return true;
  }
  return false;
}

// Reads a number of so many bytes, the lowest first, as read_varint does.
inline bool read_fixed(const char*& at, const char* end, unsigned bytes, uint64_t& value) {
  if (static_cast<size_t>(end - at) < bytes) return false;
  value = 0;
  for (unsigned i = 0; i < bytes; ++i) value |= static_cast<uint64_t>(static_cast<uint8_t>(*at++)) << (8 * i);
  return true;
}

class WireFields {
 public:
  explicit WireFields(std::string_view bytes) : at_(bytes.data()), end_(bytes.data() + bytes.size()) {}

  // False behind the last field, and where the bytes are no message.
  bool next(WireField& one) {
    begin_ = at_;
    if (at_ == end_) return false;
    is_broken_ = true;
    uint64_t tag = 0;
    if (!read_varint(at_, end_, tag) || tag >> 3 == 0 || tag > UINT32_MAX) return false;
    one = {.number = static_cast<uint32_t>(tag >> 3), .type = static_cast<WireType>(tag & 7)};
    is_broken_ = !read_value(one);
    return !is_broken_;
  }
  bool is_broken() const { return is_broken_; }
  // Where the last field that was read begins, and what stands behind it.
  const char* begin() const { return begin_; }
  const char* at() const { return at_; }

 private:
  bool read_value(WireField& one) {
    switch (one.type) {
      case WireType::varint:
        return read_varint(at_, end_, one.value);
      case WireType::fixed64:
        return read_fixed(at_, end_, 8, one.value);
      case WireType::fixed32:
        return read_fixed(at_, end_, 4, one.value);
      case WireType::bytes: {
        uint64_t size = 0;
        if (!read_varint(at_, end_, size) || size > static_cast<uint64_t>(end_ - at_)) return false;
        one.bytes = {at_, static_cast<size_t>(size)};
        at_ += size;
        return true;
      }
    }
    return false;  // groups, which none of our messages has
  }

  const char* begin_ = nullptr;
  const char* at_;
  const char* const end_;
  bool is_broken_ = false;
};

}  // namespace drover
