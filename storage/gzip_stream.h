// gzip (RFC 1952) around a stream of bytes. zlib; only gzip_stream.cc includes it.
#pragma once

#include <memory>
#include <string>

#include "drover/byte_stream.h"

namespace drover {

class GzipSink final : public ByteSink {
 public:
  explicit GzipSink(ByteSink& out);
  ~GzipSink() override;
  Status write(std::string_view bytes) override;
  Status finish();

 private:
  struct State;
  Status run(std::string_view bytes, bool is_last);
  ByteSink& out_;
  const std::unique_ptr<State> state_;
};

// Exactly one gzip member, to its checked end. Errors: data_loss when it is damaged, cut off or followed by more.
class GunzipSource final : public ByteSource {
 public:
  explicit GunzipSource(ByteSource& in);
  ~GunzipSource() override;
  Result<size_t> read(std::span<char> buffer) override;

 private:
  struct State;
  Status fill();
  ByteSource& in_;
  const std::unique_ptr<State> state_;
};

}  // namespace drover
