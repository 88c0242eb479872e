// Order-preserving keys: the order of the encoded bytes is the order of the tuples.
//
//   identifier   sixteen bytes as they are
//   string       bytes with 0x00 written as 0x00 0xFF, ended by 0x00 0x00
//   unsigned     eight bytes, big endian          signed   the same with the sign bit flipped
//   byte         one byte (enumerations, booleans)
//   descending   all bytes of the part complemented
//
// Key key = KeyBuilder().text(ns).text(job_id).take();
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "drover/result.h"

namespace drover {

class KeyBuilder {
 public:
  KeyBuilder() { bytes_.reserve(kUsualSize); }
  KeyBuilder& id(std::string_view sixteen_bytes);  // any fixed-width bytes, copied as they are
  KeyBuilder& text(std::string_view text);
  // The beginning of a text part without its end mark: for prefix scans over what a person typed.
  KeyBuilder& text_prefix(std::string_view text);
  KeyBuilder& number(uint64_t value);
  KeyBuilder& signed_number(int64_t value);
  KeyBuilder& byte(uint8_t value);
  // Complements what the next part writes.
  KeyBuilder& descending();

  const std::string& view() const { return bytes_; }
  std::string take() { return std::move(bytes_); }

 private:
  static constexpr size_t kUsualSize = 64;  // of most keys, so that they grow once
  void finish(size_t from);
  std::string bytes_;
  bool descending_ = false;
};

// Reads keys back, for tests and inspection. Errors: invalid_argument when the bytes are not of that form.
class KeyReader {
 public:
  explicit KeyReader(std::string_view key) : rest_(key) {}
  Result<std::string> id(size_t width = 16);
  Result<std::string> text();
  Result<uint64_t> number();
  Result<int64_t> signed_number();
  Result<uint8_t> byte();
  KeyReader& descending();
  bool at_end() const { return rest_.empty(); }

 private:
  Result<std::string> take(size_t width);
  std::string_view rest_;
  bool descending_ = false;
};

// The smallest byte string greater than every string that begins with `prefix`; empty when there is none.
std::string prefix_successor(std::string_view prefix);

}  // namespace drover
