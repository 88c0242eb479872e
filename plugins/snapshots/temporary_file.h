// Bytes on the disk without a name: gone with the process, for nobody else to read. One thread.
#pragma once

#include <memory>
#include <string>

#include "drover/byte_stream.h"

namespace drover::snapshots {

class TemporaryFile final : public ByteSink, public ByteSource {
 public:
  // In that folder. Errors: the disk's.
  static Result<std::unique_ptr<TemporaryFile>> create(const std::string& folder);
  ~TemporaryFile() override;
  TemporaryFile(const TemporaryFile&) = delete;
  TemporaryFile& operator=(const TemporaryFile&) = delete;

  Status write(std::string_view bytes) override;  // behind what is there
  Result<size_t> read(std::span<char> buffer) override;
  void rewind() { read_at_ = 0; }  // reading begins anew
  uint64_t size() const { return size_; }

 private:
  explicit TemporaryFile(int file) : file_(file) {}
  const int file_;
  uint64_t size_ = 0;
  uint64_t read_at_ = 0;
};

}  // namespace drover::snapshots
