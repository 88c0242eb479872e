// The durable log: a directory of zero-filled segments, one write in flight, group commit without a timer.
//
//   submit ──▶ pending ──[log] takes all there is──▶ one batch ──pwrite, durable──▶ on_durable
//                 ▲ while one batch is out the next collects │
//
// A failed write or sync is the end of the process (on_failure): the page cache no longer tells the truth, and a retry
// would. [log-fill] prepares segments ahead of need, so that a roll costs a rename. Owned by the driver.
#pragma once

#include <atomic>
#include <chrono>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <thread>

#include "drover/mutex.h"
#include "kernel/raft/log.h"
#include "storage/file_system.h"
#include "storage/segment_recovery.h"

namespace drover::raft {

inline constexpr int kStorageExitCode = 74;  // of a process that ended because its log could not be written

// Says so and ends the process with kStorageExitCode, without running destructors.
[[noreturn]] void exit_on_storage_failure(const Status& status);

struct SegmentLogOptions {
  std::string directory;
  ClusterId cluster_id{};  // zero: the one on disk, or none yet
  NodeId node_id{};        // zero: the one on disk, or a new one
  uint64_t segment_bytes = 64ull << 20;
  // The first one after a start is small, so that a server serves at once; each next is four times as large.
  uint64_t initial_segment_bytes = 1ull << 20;
  size_t spare_segments = 2;
  uint64_t cache_bytes = 64ull << 20;
  uint64_t max_batch_bytes = 4ull << 20;
  std::chrono::milliseconds idle_confirm{50};
  bool allow_direct = true;
  // Runs on [log]. Production ends the process; when a test's hook returns, the log accepts nothing more.
  std::function<void(const Status&)> on_failure = exit_on_storage_failure;
};

class SegmentLog final : public Log {
 public:
  // Locks the directory and recovers; keeps the good beginning of a damaged log that others can repair. Errors: see
  // recover_log and set_aside_damage; failed_precondition when another process holds it.
  static Result<std::unique_ptr<SegmentLog>> open(FileSystem& files, SegmentLogOptions options);
  ~SegmentLog() override;

  LogState recovered() const override { return recovered_; }
  // Before start(): this log must be made anew by the leader, for a reason that the log itself does not know.
  Status mark_damaged();
  ClusterId cluster_id() const override;
  Status join_cluster(ClusterId cluster) override;
  NodeId node_id() const { return node_id_; }

  void start(std::function<void(uint64_t)> on_durable) override;
  void stop() override;

  // Without threads, for a caller that decides when the disk works: the loops of [log] and [log-fill] are made of these
  // two steps, and stop() writes nothing. Both say whether there was anything to do; a failed log has nothing.
  enum class Idle : uint8_t { nothing, confirm, close };  // what to write when nothing waits
  void start_stepped(std::function<void(uint64_t)> on_durable) { on_durable_ = std::move(on_durable); }
  bool write_step(Idle idle);  // one batch of what waits
  bool fill_step();            // one spare segment

  void submit(LogWrite write) override;
  void mark_whole() override;
  Result<std::vector<Entry>> read(Index from, Index to, uint64_t max_bytes) const override;
  Verified verify(Index index) const override;
  Result<Term> term_at(Index index) const override;
  TermRuns terms() const;  // of the whole log
  Index first_index() const override;
  Index last_index() const override;
  Index durable_index() const override;
  Index trail_start(Index upto, uint64_t bytes) const override;
  LogStats stats() const override;

 private:
  struct Segment {
    uint64_t seq = 0;
    uint64_t salt = 0;
    uint64_t capacity = 0;
    std::string path;
    Index max_index = 0;  // [log]
    mutable Mutex opening;
    mutable std::shared_ptr<File> reader DROVER_GUARDED_BY(opening);  // opened at the first read from disk
  };
  struct Unconfirmed {
    uint64_t write_seq = 0;
    Index last = 0;
  };
  struct Spare {
    std::string path;
    uint64_t size = 0;
    bool is_recycled = false;
  };

  SegmentLog(FileSystem& files, SegmentLogOptions options, Recovery recovery, std::unique_ptr<FileLock> lock,
             bool is_direct);
  Status resume(const SegmentInfo& last);

  void run();       // [log]
  void run_fill();  // [log-fill]
  // All that is there, as far as it makes one batch: a truncation begins a new one.
  std::vector<LogWrite> take() DROVER_REQUIRES(mutex_);
  Status write_batch(std::vector<LogWrite> writes, uint32_t flags);
  Status roll(uint64_t batch_bytes);
  Status write_durably(uint64_t offset, std::string_view bytes);
  Status drop_segments();
  Status prepare(const std::string& path, uint64_t size);
  size_t wanted_spares() const DROVER_REQUIRES(mutex_);
  Result<std::vector<Entry>> read_batch(const Segment& segment, const BatchPlace& place) const;

  // Constant after construction.
  FileSystem& files_;
  const SegmentLogOptions options_;
  LogState recovered_;
  const NodeId node_id_;
  const std::unique_ptr<FileLock> lock_;
  const bool is_direct_;
  std::function<void(uint64_t)> on_durable_;

  // [log]
  std::unique_ptr<File> active_;
  uint32_t active_seed_ = 0;
  uint64_t offset_ = 0;
  uint64_t batch_seq_ = 0;
  uint32_t chain_ = 0;
  uint64_t write_seq_ = 0;
  HardState hard_state_;
  Membership membership_;
  TermRuns written_;          // the log as it stands on disk
  bool is_confirmed_ = true;  // the disk itself says that the newest entries are durable
  AlignedBuffer buffer_;

  mutable Mutex mutex_;  // a leaf
  CondVar wake_;
  CondVar wake_fill_;
  ClusterId cluster_id_ DROVER_GUARDED_BY(mutex_);
  LogIndex index_ DROVER_GUARDED_BY(mutex_);
  std::deque<LogWrite> pending_ DROVER_GUARDED_BY(mutex_);
  std::deque<Unconfirmed> unconfirmed_ DROVER_GUARDED_BY(mutex_);
  Index durable_ DROVER_GUARDED_BY(mutex_) = 0;
  std::map<uint64_t, std::shared_ptr<Segment>> segments_ DROVER_GUARDED_BY(mutex_);
  std::deque<Spare> spares_ DROVER_GUARDED_BY(mutex_);
  std::atomic<uint64_t> active_capacity_ = 0;  // [log] writes it under the mutex, and reads it without
  uint64_t active_used_ DROVER_GUARDED_BY(mutex_) = 0;
  uint64_t next_file_ DROVER_GUARDED_BY(mutex_) = 1;  // names of spares never repeat within a run
  LogStats stats_ DROVER_GUARDED_BY(mutex_);
  bool is_stopping_ DROVER_GUARDED_BY(mutex_) = false;
  bool has_failed_ DROVER_GUARDED_BY(mutex_) = false;
  bool fill_failed_ DROVER_GUARDED_BY(mutex_) = false;
  bool is_whole_again_ DROVER_GUARDED_BY(mutex_) = false;  // the damage mark is to be removed

  std::thread writer_;
  std::thread filler_;
  ThreadChecker log_thread_{"log"};
};

}  // namespace drover::raft
