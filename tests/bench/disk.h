// The disk alone: blocks of 4 KiB over a zero-filled file, each waited for.
#pragma once

#include <string>
#include <vector>

namespace drover::bench {

class Disk {
 public:
  // With fdatasync after each block, or with O_DIRECT|O_DSYNC.
  Disk(const std::string& path, bool is_direct);
  Disk(const Disk&) = delete;
  Disk& operator=(const Disk&) = delete;
  ~Disk();

  bool works() const { return fd_ >= 0; }  // O_DIRECT is not for every file system
  // Appends the microseconds of each write. On a thread of its own, as the log's writer is: on a busy machine the
  // scheduler treats a thread that only waits for the disk better than one that also computes, and by more than a write
  // takes.
  void run(int writes, std::vector<double>& out);
  // One write, on this thread; its microseconds. Requires: works().
  double write();

 private:
  static constexpr size_t kBytes = 4 << 20;
  const bool is_direct_;
  int fd_ = -1;
  size_t at_ = 0;
  void* block_ = nullptr;  // aligned for O_DIRECT
};

}  // namespace drover::bench
