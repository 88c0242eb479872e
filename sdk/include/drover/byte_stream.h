// Where a long run of bytes goes to and comes from, in order. Calls may block on a disk or a connection. One thread.
#pragma once

#include <span>
#include <string_view>

#include "drover/result.h"

namespace drover {

class ByteSink {
 public:
  virtual ~ByteSink() = default;
  virtual Status write(std::string_view bytes) = 0;
};

class ByteSource {
 public:
  virtual ~ByteSource() = default;
  // Up to buffer.size() bytes; 0 at the end.
  virtual Result<size_t> read(std::span<char> buffer) = 0;
};

}  // namespace drover
