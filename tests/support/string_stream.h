// Bytes in memory as streams, for tests.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "drover/byte_stream.h"

namespace drover {

class StringSink final : public ByteSink {
 public:
  Status write(std::string_view more) override {
    bytes.append(more);
    return ok_status();
  }
  std::string bytes;
};

class StringSource final : public ByteSource {
 public:
  explicit StringSource(std::string_view bytes, size_t step = SIZE_MAX) : rest_(bytes), step_(step) {}
  Result<size_t> read(std::span<char> buffer) override {
    const size_t n = rest_.copy(buffer.data(), std::min(buffer.size(), step_));
    rest_.remove_prefix(n);
    return n;
  }

 private:
  std::string_view rest_;
  const size_t step_;
};

}  // namespace drover
