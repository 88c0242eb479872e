// Reads a file in frames and follows it. The decision is pure; the reader runs on the caller's thread, which waits
// without work while the file does not change.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <stop_token>
#include <string>

#include "drover/clock.h"
#include "drover/result.h"
#include "files/alloc_tree.h"
#include "files/file_watch.h"

namespace drover::v1 {
class FileFrame;
}

namespace drover::agent {

inline constexpr size_t kFrameBytes = 64 * 1024;
inline constexpr const char* kFileDeleted = "file deleted";
inline constexpr const char* kFileTruncated = "file truncated";

// A file as its reader sees it.
struct FileLook {
  uint64_t size = 0;
  bool has_name = true;  // its path still leads to it
};
enum class ReadStep : uint8_t {
  read,
  restart,  // at the beginning: it has become shorter than what was read
  gone,     // all was read, and the path leads elsewhere or to nothing
  end,
  wait,
};
// Pure. What stands in the file is read before its end is told.
ReadStep next_step(uint64_t position, const FileLook& look, bool follow);

// Where reading begins: never behind the end. Pure.
uint64_t first_position(uint64_t size, bool from_end, uint64_t offset);

struct FileReadOptions {
  std::string path;  // as the caller says it
  bool from_end = false;
  uint64_t offset = 0;
  uint64_t limit = UINT64_MAX;  // bytes
  bool follow = false;
  std::chrono::nanoseconds heartbeat = std::chrono::seconds(1);
  std::chrono::nanoseconds glance = std::chrono::milliseconds(100);  // between looks, where nobody tells of changes
};

using SendFrame = std::function<bool(const v1::FileFrame&)>;  // false when the caller has gone

// Returns at the file's end, after `limit` bytes, when the followed file is deleted, when the caller has gone, or on
// stop. Errors: as AllocTree.
Status read_file(const FileReadOptions& options, const AllocTree& tree, FileWatch& watch, Clock& clock,
                 const std::stop_token& stop, const SendFrame& send);

// The bytes from `offset` to the end that the file has now, at most `limit`; a shorter file ends earlier.
Status copy_file(const AllocTree& tree, const AllocTree::Place& place, uint64_t offset, uint64_t limit,
                 const std::stop_token& stop, const std::function<bool(std::string_view)>& send);

}  // namespace drover::agent
