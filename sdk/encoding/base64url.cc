#include "drover/base64url.h"

#include <cstdint>

namespace drover {
namespace {

constexpr std::string_view kAlphabet = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";

}  // namespace

std::string base64url(std::string_view bytes) {
  std::string text;
  uint32_t held = 0;
  int bits = 0;
  for (const char c : bytes) {
    held = held << 8 | static_cast<unsigned char>(c);
    for (bits += 8; bits >= 6; bits -= 6) text += kAlphabet[held >> (bits - 6) & 63];
  }
  if (bits > 0) text += kAlphabet[held << (6 - bits) & 63];
  return text;
}

Result<std::string> base64url_decode(std::string_view text) {
  std::string bytes;
  uint32_t held = 0;
  int bits = 0;
  for (const char c : text) {
    const size_t value = kAlphabet.find(c);
    if (value == std::string_view::npos) return invalid_argument("a character is not of base64url");
    held = held << 6 | static_cast<uint32_t>(value);
    bits += 6;
    if (bits < 8) continue;
    bits -= 8;
    bytes += static_cast<char>(held >> bits & 255);
  }
  if (bits == 6 || (held & ((1U << bits) - 1)) != 0) return invalid_argument("the text does not end as base64url does");
  return bytes;
}

}  // namespace drover
