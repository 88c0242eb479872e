#include <array>
#include <bit>
#include <cstdio>

#include "drover/hclspec.h"

namespace drover::hclspec {
namespace {

using hcl::Kind;
using hcl::Value;

template <typename Integer>
void put_big_endian(std::string& out, Integer value) {
  for (int shift = static_cast<int>(sizeof(Integer)) * 8 - 8; shift >= 0; shift -= 8)
    out.push_back(static_cast<char>(static_cast<uint64_t>(value) >> shift & 0xff));
}

void put_integer(std::string& out, int64_t value) {
  const auto as_unsigned = static_cast<uint64_t>(value);
  if (value >= -32 && value < 128) {
    out.push_back(static_cast<char>(value));
  } else if (value >= 0) {
    if (as_unsigned <= 0xff) {
      out.push_back('\xcc');
      put_big_endian(out, static_cast<uint8_t>(value));
    } else if (as_unsigned <= 0xffff) {
      out.push_back('\xcd');
      put_big_endian(out, static_cast<uint16_t>(value));
    } else if (as_unsigned <= 0xffffffff) {
      out.push_back('\xce');
      put_big_endian(out, static_cast<uint32_t>(value));
    } else {
      out.push_back('\xcf');
      put_big_endian(out, as_unsigned);
    }
  } else if (value >= INT8_MIN) {
    out.push_back('\xd0');
    put_big_endian(out, static_cast<uint8_t>(value));
  } else if (value >= INT16_MIN) {
    out.push_back('\xd1');
    put_big_endian(out, static_cast<uint16_t>(value));
  } else if (value >= INT32_MIN) {
    out.push_back('\xd2');
    put_big_endian(out, static_cast<uint32_t>(value));
  } else {
    out.push_back('\xd3');
    put_big_endian(out, as_unsigned);
  }
}

// The head of something that has a length: short ones are in the tag.
void put_length(std::string& out, size_t size, char shortest, size_t below, std::string_view tags) {
  if (size < below) {
    out.push_back(static_cast<char>(shortest | static_cast<char>(size)));
  } else if (tags.size() == 3 && size <= 0xff) {
    out.push_back(tags[0]);
    put_big_endian(out, static_cast<uint8_t>(size));
  } else if (size <= 0xffff) {
    out.push_back(tags[tags.size() - 2]);
    put_big_endian(out, static_cast<uint16_t>(size));
  } else {
    out.push_back(tags.back());
    put_big_endian(out, static_cast<uint32_t>(size));
  }
}

void put_string(std::string& out, std::string_view text) {
  put_length(out, text.size(), '\xa0', 32, "\xd9\xda\xdb");
  out.append(text);
}

// True when the decimal text says exactly what the double is: all digits of a double are finitely many.
bool is_exact(double value, const std::string& text) {
  std::array<char, 1500> digits{};
  const int size = std::snprintf(digits.data(), digits.size(), "%.1074f", value);
  std::string_view all(digits.data(), static_cast<size_t>(std::max(size, 0)));
  while (all.ends_with('0')) all.remove_suffix(1);
  if (all.ends_with('.')) all.remove_suffix(1);
  return all == text;
}

void put_number(std::string& out, const hcl::Number& number) {
  if (const auto whole = number.as_integer()) return put_integer(out, *whole);
  const std::string text = number.to_string();
  if (!is_exact(number.as_double(), text)) return put_string(out, text);
  out.push_back('\xcb');
  put_big_endian(out, std::bit_cast<uint64_t>(number.as_double()));
}

void put(std::string& out, const Value& value) {
  switch (value.kind()) {
    case Kind::boolean:
      out.push_back(value.boolean() ? '\xc3' : '\xc2');
      break;
    case Kind::number:
      put_number(out, value.number());
      break;
    case Kind::string:
      put_string(out, value.string());
      break;
    case Kind::list:
      put_length(out, value.list().size(), '\x90', 16, "\xdc\xdd");
      for (const Value& one : value.list()) put(out, one);
      break;
    case Kind::object:
      put_length(out, value.object().size(), '\x80', 16, "\xde\xdf");
      for (const auto& [name, one] : value.object()) {
        put_string(out, name);
        put(out, one);
      }
      break;
    default:
      out.push_back('\xc0');
  }
}

}  // namespace

std::string to_msgpack(const Value& value) {
  std::string out;
  put(out, value);
  return out;
}

}  // namespace drover::hclspec
