#include "drover/uuid.h"

#include <sys/random.h>

#include "drover/result.h"

namespace drover {
namespace {

int hex_value(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  if (c >= 'A' && c <= 'F') return c - 'A' + 10;
  return -1;
}

}  // namespace

Uuid Uuid::random() {
  Uuid id;
  DROVER_CHECK(getrandom(id.bytes_.data(), id.bytes_.size(), 0) == static_cast<ssize_t>(id.bytes_.size()));
  id.bytes_[6] = static_cast<uint8_t>((id.bytes_[6] & 0x0f) | 0x40);
  id.bytes_[8] = static_cast<uint8_t>((id.bytes_[8] & 0x3f) | 0x80);
  return id;
}

Uuid Uuid::from_bytes(std::string_view bytes) {
  Uuid id;
  if (bytes.size() == id.bytes_.size())
    std::copy(bytes.begin(), bytes.end(), reinterpret_cast<char*>(id.bytes_.data()));
  return id;
}

std::optional<Uuid> Uuid::parse(std::string_view text) {
  if (text.size() != 36) return std::nullopt;
  Uuid id;
  size_t out = 0;
  for (size_t i = 0; i < text.size();) {
    if (i == 8 || i == 13 || i == 18 || i == 23) {
      if (text[i++] != '-') return std::nullopt;
      continue;
    }
    int high = hex_value(text[i]);
    int low = hex_value(text[i + 1]);
    if (high < 0 || low < 0) return std::nullopt;
    id.bytes_[out++] = static_cast<uint8_t>(high * 16 + low);
    i += 2;
  }
  return id;
}

std::string Uuid::to_string() const {
  static constexpr char kDigits[] = "0123456789abcdef";
  std::string text;
  text.reserve(36);
  for (size_t i = 0; i < bytes_.size(); ++i) {
    if (i == 4 || i == 6 || i == 8 || i == 10) text += '-';
    text += kDigits[bytes_[i] >> 4];
    text += kDigits[bytes_[i] & 15];
  }
  return text;
}

std::optional<UuidRange> uuid_prefix_range(std::string_view text) {
  UuidRange range{std::string(16, '\0'), std::string(16, '\xff')};
  size_t digits = 0;
  for (char c : text) {
    if (c == '-') continue;
    int value = hex_value(c);
    if (value < 0 || digits == 32) return std::nullopt;
    size_t at = digits / 2;
    if (digits % 2 == 0) {
      range.first[at] = static_cast<char>(value << 4);
      range.last[at] = static_cast<char>((value << 4) | 15);
    } else {
      range.first[at] = static_cast<char>(range.first[at] | value);
      range.last[at] = static_cast<char>((range.last[at] & 0xf0) | value);
    }
    ++digits;
  }
  if (digits == 0) return std::nullopt;
  return range;
}

}  // namespace drover
