#include "drover/base64.h"

#include <algorithm>
#include <cstdint>

namespace drover {
namespace {

constexpr std::string_view kDigits = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

}  // namespace

std::string base64_encode(std::string_view bytes) {
  std::string out;
  out.reserve((bytes.size() + 2) / 3 * 4);
  for (size_t i = 0; i < bytes.size(); i += 3) {
    uint32_t group = 0;
    size_t have = std::min<size_t>(3, bytes.size() - i);
    for (size_t k = 0; k < 3; ++k) group = (group << 8) | (k < have ? static_cast<uint8_t>(bytes[i + k]) : 0u);
    for (size_t k = 0; k < 4; ++k) out += k <= have ? kDigits[(group >> (18 - 6 * k)) & 63] : '=';
  }
  return out;
}

Result<std::string> base64_decode(std::string_view text) {
  std::string compact(text);
  std::erase_if(compact, [](char c) { return c == '\n' || c == '\r'; });
  if (compact.size() % 4 != 0) return invalid_argument("this is not base64: its length is not a multiple of 4");
  size_t padding = compact.ends_with("==") ? 2 : compact.ends_with('=') ? 1 : 0;
  size_t digits = compact.size() - padding;
  std::string out;
  out.reserve(compact.size() / 4 * 3);
  uint32_t group = 0;
  for (size_t i = 0; i < digits; ++i) {
    size_t value = kDigits.find(compact[i]);
    if (value == std::string_view::npos) {
      return invalid_argument("this is not base64: character " + std::to_string(i + 1));
    }
    group = (group << 6) | static_cast<uint32_t>(value);
    if (i % 4 == 1) out += static_cast<char>((group >> 4) & 255);
    if (i % 4 == 2) out += static_cast<char>((group >> 2) & 255);
    if (i % 4 == 3) out += static_cast<char>(group & 255);
  }
  return out;
}

}  // namespace drover
