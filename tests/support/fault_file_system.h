// A disk in memory that misbehaves on command, for tests: power fails in the middle of a chosen operation, and unsynced
// writes survive only in part.
//
// Files: writes since the last sync survive by 512-byte sectors, each with even odds unless told otherwise.
// Names: operations on names since the last sync of any directory survive as a prefix, as on a journalling file system.
// [any]
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <random>
#include <string>
#include <vector>

#include "storage/file_system.h"

namespace drover::raft {

class FaultFileSystem final : public FileSystem {
 public:
  explicit FaultFileSystem(uint64_t seed, bool takes_direct = true) : random_(seed), takes_direct_(takes_direct) {}

  Result<std::unique_ptr<File>> open(const std::string& path, OpenMode mode) override;
  Status rename(const std::string& from, const std::string& to) override;
  Status remove(const std::string& path) override;
  Status make_directory(const std::string& path) override;
  Status sync_directory(const std::string& path) override;
  Result<std::vector<std::string>> list(const std::string& path) override;
  Result<std::unique_ptr<FileLock>> lock(const std::string& path) override;
  Result<uint64_t> free_space(const std::string& path) override;

  // Power fails during the n-th changing operation from now (1: the next). From then on everything fails.
  void crash_after(uint64_t operations);
  bool has_crashed() const;
  // Power is back: unsynced changes are lost in part, locks are free.
  void reboot();

  // Odds in a million: that an unsynced sector survives, and that one which does not holds neither old nor new.
  void set_survival(uint64_t survives, uint64_t is_garbage);
  // Rot in what had been confirmed: one bit, in every view of the file. False when there is no such byte.
  bool flip_bit(const std::string& path, uint64_t offset, int bit);
  // True while a flipped bit is still there.
  bool is_rotten() const;
  // True when there is such a file, or may be one after a reboot.
  bool may_hold(const std::string& path) const;
  // An empty disk. Nothing may be open.
  void wipe();

  // From now on: writes or syncs of files whose path contains `part` fail with this errno; 0 ends it.
  void fail_writes(std::string part, int error);
  void fail_syncs(std::string part, int error);
  void fail_reads(std::string part, int error);
  // Space left for files to grow.
  void set_space(uint64_t bytes);

  uint64_t operations() const;
  std::string content(const std::string& path) const;  // as a reader sees it now
  void set_content(const std::string& path, std::string bytes);
  std::vector<std::string> paths() const;

 private:
  friend class FaultFile;
  struct Node {
    std::string synced;
    std::string current;
    // Where the two may differ, beside what the longer of them has more.
    size_t dirty_from = std::string::npos;
    size_t dirty_to = 0;
    std::vector<size_t> rot;  // offsets of flipped bits that nothing was written over
    bool is_directory = false;

    void write(uint64_t offset, std::string_view bytes);
    void sync();
  };
  using NodePtr = std::shared_ptr<Node>;
  using Names = std::map<std::string, NodePtr>;

  // Under mutex_. Fails once power is gone; the operation that meets the end is half done.
  Status begin(const std::string& path, const char* call, bool& is_last);
  void tear(Node& node);
  struct Change {
    enum class Kind : uint8_t { create, remove, rename } kind = Kind::create;
    std::string name;
    std::string to{};  // rename
    NodePtr node{};    // create
  };
  static void carry_out(const Change& change, Names& names);
  void change_names(Change change) {
    carry_out(change, names_);
    unsynced_.push_back(std::move(change));
  }
  void sync_names(size_t changes);  // the first so many of the unsynced ones

  mutable std::mutex mutex_;  // guards everything
  std::mt19937_64 random_;
  const bool takes_direct_;
  Names names_;
  Names synced_names_;
  std::vector<Change> unsynced_;  // what makes names_ of synced_names_
  std::map<std::string, bool> locks_;
  uint64_t operations_ = 0;
  uint64_t crash_at_ = 0;
  bool has_crashed_ = false;
  uint64_t life_ = 0;  // files opened in an earlier one are dead
  std::string fail_write_part_, fail_sync_part_, fail_read_part_;
  int write_error_ = 0, sync_error_ = 0, read_error_ = 0;
  uint64_t space_ = UINT64_MAX;
  uint64_t survives_ = 500'000, is_garbage_ = 0;
};

}  // namespace drover::raft
