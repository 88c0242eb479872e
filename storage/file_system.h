// The file layer under the log and the snapshots: few calls, each with the path in its errors, so that tests can put a
// misbehaving disk in its place. The real one has no state; a file belongs to its opener. [any]
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "drover/result.h"

namespace drover::raft {

inline constexpr size_t kBlock = 4096;

class File {
 public:
  virtual ~File() = default;
  // All of it, or an error.
  virtual Status write(uint64_t offset, std::string_view bytes) = 0;
  // Fewer than asked only at the end of the file.
  virtual Result<size_t> read(uint64_t offset, std::span<char> buffer) const = 0;
  virtual Status sync() = 0;  // fdatasync
  virtual Result<uint64_t> size() const = 0;
};

// Held until destroyed; the operating system lets go of it when the process ends.
class FileLock {
 public:
  virtual ~FileLock() = default;
  // Sets the text for those that find it held. It is for people and tools only, so a torn one does no harm.
  virtual Status describe(std::string_view text) = 0;
};

enum class OpenMode : uint8_t {
  read,
  create,        // a new file; an existing one is replaced
  write,         // an existing file
  write_direct,  // the same with O_DIRECT|O_DSYNC: a write is durable when it returns; blocks of kBlock, aligned memory
};

class FileSystem {
 public:
  virtual ~FileSystem() = default;
  virtual Result<std::unique_ptr<File>> open(const std::string& path, OpenMode mode) = 0;
  virtual Status rename(const std::string& from, const std::string& to) = 0;
  virtual Status remove(const std::string& path) = 0;          // a file, or an empty directory
  virtual Status make_directory(const std::string& path) = 0;  // an existing one is fine
  virtual Status sync_directory(const std::string& path) = 0;
  // Names, sorted, without "." and "..".
  virtual Result<std::vector<std::string>> list(const std::string& path) = 0;
  // Errors: failed_precondition when another process holds it (with the holder's text).
  virtual Result<std::unique_ptr<FileLock>> lock(const std::string& path) = 0;
  virtual Result<uint64_t> free_space(const std::string& path) = 0;
};

std::unique_ptr<FileSystem> make_file_system();

// Zeroed memory on a block boundary, as direct writes need it.
class AlignedBuffer {
 public:
  // Grows to at least `size` and clears the first `size` bytes; the content is lost.
  char* reset(size_t size);
  // Grows by whole blocks of zeros to at least `size`, keeping what is there.
  void extend(size_t size);
  char* data() { return data_.get(); }
  size_t size() const { return size_; }
  std::string_view view() const { return {data_.get(), size_}; }

 private:
  struct Free {
    void operator()(char* memory) const;
  };
  std::unique_ptr<char, Free> data_;
  size_t size_ = 0;
  size_t capacity_ = 0;
};

}  // namespace drover::raft
