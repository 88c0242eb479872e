#include "drover/message_fields.h"

#include "../encoding/wire_fields.h"

namespace drover {
namespace {

void append_varint(std::string& bytes, uint64_t value) {
  for (; value >= 0x80; value >>= 7) bytes += static_cast<char>(value | 0x80);
  bytes += static_cast<char>(value);
}

void append_tag(std::string& bytes, uint32_t number, WireType type) {
  append_varint(bytes, (uint64_t{number} << 3) | static_cast<uint64_t>(type));
}

}  // namespace

std::string_view bytes_field(std::string_view bytes, uint32_t number) {
  std::string_view value;
  WireFields all(bytes);
  for (WireField one; all.next(one);) {
    if (one.number == number && one.type == WireType::bytes) value = one.bytes;
  }
  return value;
}

uint64_t number_field(std::string_view bytes, uint32_t number) {
  uint64_t value = 0;
  WireFields all(bytes);
  for (WireField one; all.next(one);) {
    if (one.number == number && one.type == WireType::varint) value = one.value;
  }
  return value;
}

void append_field(std::string& bytes, uint32_t number, uint64_t value) {
  append_tag(bytes, number, WireType::varint);
  append_varint(bytes, value);
}

void append_field(std::string& bytes, uint32_t number, std::string_view value) {
  append_tag(bytes, number, WireType::bytes);
  append_varint(bytes, value.size());
  bytes += value;
}

void append_without(std::string& to, std::string_view bytes, uint32_t number) {
  const char* kept = bytes.data();  // what stands from here on is yet to be copied
  WireFields all(bytes);
  for (WireField one; all.next(one);) {
    if (one.number != number) continue;
    to.append(kept, all.begin());
    kept = all.at();
  }
  to.append(kept, bytes.data() + bytes.size());
}

}  // namespace drover
