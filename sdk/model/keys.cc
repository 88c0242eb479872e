#include "drover/keys.h"

#include "drover/tables.h"

namespace drover {

KeyBuilder& KeyBuilder::id(std::string_view sixteen_bytes) {
  size_t from = bytes_.size();
  bytes_ += sixteen_bytes;
  finish(from);
  return *this;
}

KeyBuilder& KeyBuilder::text(std::string_view text) {
  size_t from = bytes_.size();
  for (char c : text) {
    bytes_ += c;
    if (c == '\0') bytes_ += '\xff';
  }
  bytes_ += '\0';
  bytes_ += '\0';
  finish(from);
  return *this;
}

KeyBuilder& KeyBuilder::text_prefix(std::string_view text) {
  size_t from = bytes_.size();
  for (char c : text) {
    bytes_ += c;
    if (c == '\0') bytes_ += '\xff';
  }
  finish(from);
  return *this;
}

KeyBuilder& KeyBuilder::number(uint64_t value) {
  size_t from = bytes_.size();
  for (int shift = 56; shift >= 0; shift -= 8) bytes_ += static_cast<char>(value >> shift);
  finish(from);
  return *this;
}

KeyBuilder& KeyBuilder::signed_number(int64_t value) {
  return number(static_cast<uint64_t>(value) ^ (uint64_t{1} << 63));
}

KeyBuilder& KeyBuilder::byte(uint8_t value) {
  size_t from = bytes_.size();
  bytes_ += static_cast<char>(value);
  finish(from);
  return *this;
}

KeyBuilder& KeyBuilder::descending() {
  descending_ = true;
  return *this;
}

void KeyBuilder::finish(size_t from) {
  if (descending_) {
    for (size_t i = from; i < bytes_.size(); ++i) bytes_[i] = static_cast<char>(~bytes_[i]);
  }
  descending_ = false;
}

Result<std::string> KeyReader::take(size_t width) {
  if (rest_.size() < width) return invalid_argument("key ends inside a part of " + std::to_string(width) + " bytes");
  std::string part(rest_.substr(0, width));
  rest_.remove_prefix(width);
  if (descending_) {
    for (char& c : part) c = static_cast<char>(~c);
  }
  descending_ = false;
  return part;
}

Result<std::string> KeyReader::id(size_t width) { return take(width); }

Result<std::string> KeyReader::text() {
  const char flip = descending_ ? '\xff' : '\0';
  descending_ = false;
  std::string text;
  for (size_t i = 0; i < rest_.size(); ++i) {
    char c = static_cast<char>(rest_[i] ^ flip);
    if (c != '\0') {
      text += c;
      continue;
    }
    if (++i == rest_.size()) break;
    char mark = static_cast<char>(rest_[i] ^ flip);
    if (mark == '\0') {
      rest_.remove_prefix(i + 1);
      return text;
    }
    if (mark != '\xff') return invalid_argument("key has a text part with a bad escape");
    text += '\0';
  }
  return invalid_argument("key ends inside a text part");
}

Result<uint64_t> KeyReader::number() {
  DROVER_TRY(std::string part, take(8));
  uint64_t value = 0;
  for (char c : part) value = (value << 8) | static_cast<uint8_t>(c);
  return value;
}

Result<int64_t> KeyReader::signed_number() {
  DROVER_TRY(uint64_t value, number());
  return static_cast<int64_t>(value ^ (uint64_t{1} << 63));
}

Result<uint8_t> KeyReader::byte() {
  DROVER_TRY(std::string part, take(1));
  return static_cast<uint8_t>(part[0]);
}

KeyReader& KeyReader::descending() {
  descending_ = true;
  return *this;
}

std::string prefix_successor(std::string_view prefix) {
  std::string end(prefix);
  while (!end.empty()) {
    if (static_cast<uint8_t>(end.back()) != 0xff) {
      end.back() = static_cast<char>(end.back() + 1);
      return end;
    }
    end.pop_back();
  }
  return end;
}

KeyRange KeyRange::prefix(std::string_view prefix) { return {std::string(prefix), prefix_successor(prefix)}; }
KeyRange KeyRange::exactly(std::string_view key) { return {std::string(key), std::string(key) + '\0'}; }

}  // namespace drover
