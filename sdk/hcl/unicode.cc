#include "unicode.h"

#include <utf8proc.h>

#include <algorithm>
#include <cstdlib>

namespace drover::hcl {
namespace {

struct Interval {
  uint32_t first;
  uint32_t last;
};

// Beyond ASCII, what is not part of a name: controls, punctuation, symbols, spaces, private use and unassigned planes.
// Combining marks and digits of other scripts count as letters that may also begin a name.
constexpr Interval kNotLetters[] = {
    {0x80, 0xa9},     {0xab, 0xb4},     {0xb6, 0xb6},       {0xb8, 0xb9},       {0xbb, 0xbf},        {0xd7, 0xd7},
    {0xf7, 0xf7},     {0x1680, 0x1680}, {0x2000, 0x203e},   {0x2041, 0x2053},   {0x2055, 0x2070},    {0x2072, 0x207e},
    {0x2080, 0x208f}, {0x20a0, 0x20cf}, {0x2190, 0x2bff},   {0x2e00, 0x2e7f},   {0x3000, 0x3004},    {0x3008, 0x3020},
    {0x3030, 0x3030}, {0xd800, 0xf8ff}, {0xfdd0, 0xfdef},   {0xfe10, 0xfe1f},   {0xfe30, 0xfe32},    {0xfe35, 0xfe4c},
    {0xfe50, 0xfe6f}, {0xfeff, 0xfeff}, {0xff00, 0xff0f},   {0xff1a, 0xff20},   {0xff3b, 0xff3e},    {0xff40, 0xff40},
    {0xff5b, 0xff65}, {0xffe0, 0xffff}, {0x1f000, 0x1faff}, {0xe0000, 0xe00ff}, {0xf0000, 0x10ffff},
};

bool is_letter(uint32_t c) {
  if (c < 0x80) return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
  return c <= 0x10ffff && std::ranges::none_of(kNotLetters, [c](Interval i) { return c >= i.first && c <= i.last; });
}

}  // namespace

CodePoint decode_utf8(std::string_view text) {
  if (text.empty()) return {};
  auto byte = [&](size_t i) { return static_cast<unsigned char>(text[i]); };
  unsigned char first = byte(0);
  if (first < 0x80) return {first, 1};
  size_t length = first >= 0xf0 ? 4 : first >= 0xe0 ? 3 : 2;
  if (first < 0xc2 || first > 0xf4 || text.size() < length) return {};
  uint32_t value = first & (0x7fu >> length);
  for (size_t i = 1; i < length; ++i) {
    if ((byte(i) & 0xc0) != 0x80) return {};
    value = (value << 6) | (byte(i) & 0x3fu);
  }
  constexpr uint32_t kSmallest[] = {0, 0, 0x80, 0x800, 0x10000};
  if (value < kSmallest[length] || value > 0x10ffff || (value >= 0xd800 && value <= 0xdfff)) return {};
  return {value, length};
}

bool is_utf8(std::string_view text) {
  while (!text.empty()) {
    size_t bytes = decode_utf8(text).bytes;
    if (bytes == 0) return false;
    text.remove_prefix(bytes);
  }
  return true;
}

void append_utf8(std::string& text, uint32_t c) {
  if (c > 0x10ffff || (c >= 0xd800 && c <= 0xdfff)) c = 0xfffd;
  auto put = [&](uint32_t byte) { text += static_cast<char>(byte); };
  if (c < 0x80) {
    put(c);
  } else if (c < 0x800) {
    put(0xc0 | (c >> 6)), put(0x80 | (c & 0x3f));
  } else if (c < 0x10000) {
    put(0xe0 | (c >> 12)), put(0x80 | ((c >> 6) & 0x3f)), put(0x80 | (c & 0x3f));
  } else {
    put(0xf0 | (c >> 18)), put(0x80 | ((c >> 12) & 0x3f)), put(0x80 | ((c >> 6) & 0x3f)), put(0x80 | (c & 0x3f));
  }
}

uint32_t to_upper(uint32_t c) {
  if (c == 0xdf) return c;  // no capital sharp s in common use
  return static_cast<uint32_t>(utf8proc_toupper(static_cast<utf8proc_int32_t>(c)));
}

uint32_t to_lower(uint32_t c) { return static_cast<uint32_t>(utf8proc_tolower(static_cast<utf8proc_int32_t>(c))); }

std::string to_nfc(std::string text) {
  // The first character that can change is U+0300, whose first byte is this.
  constexpr unsigned char kFirst = 0xcc;
  if (std::ranges::none_of(text, [](char c) { return static_cast<unsigned char>(c) >= kFirst; })) return text;
  utf8proc_uint8_t* normal = nullptr;
  utf8proc_ssize_t size =
      utf8proc_map(reinterpret_cast<const utf8proc_uint8_t*>(text.data()), static_cast<utf8proc_ssize_t>(text.size()),
                   &normal, static_cast<utf8proc_option_t>(UTF8PROC_STABLE | UTF8PROC_COMPOSE));
  if (size >= 0) text.assign(reinterpret_cast<const char*>(normal), static_cast<size_t>(size));
  std::free(normal);
  return text;
}

std::vector<std::string_view> characters(std::string_view text) {
  std::vector<std::string_view> found;
  utf8proc_int32_t state = 0;
  uint32_t before = 0;
  size_t begin = 0;
  for (size_t at = 0; at < text.size();) {
    CodePoint point = decode_utf8(text.substr(at));
    bool is_break = at > 0 && (point.bytes == 0 || before == 0 ||
                               utf8proc_grapheme_break_stateful(static_cast<utf8proc_int32_t>(before),
                                                                static_cast<utf8proc_int32_t>(point.value), &state));
    if (is_break) {
      found.push_back(text.substr(begin, at - begin));
      begin = at;
    }
    before = point.value;
    at += std::max<size_t>(point.bytes, 1);
  }
  if (begin < text.size()) found.push_back(text.substr(begin));
  return found;
}

bool is_space_separator(uint32_t c) {
  return utf8proc_category(static_cast<utf8proc_int32_t>(c)) == UTF8PROC_CATEGORY_ZS;
}

bool begins_identifier(uint32_t c) { return c == '_' || is_letter(c); }

bool continues_identifier(uint32_t c) { return c == '-' || (c >= '0' && c <= '9') || begins_identifier(c); }

}  // namespace drover::hcl
