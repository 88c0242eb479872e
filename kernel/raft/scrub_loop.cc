#include "kernel/raft/scrub_loop.h"

#include <algorithm>
#include <string>

#include "drover/log.h"
#include "kernel/raft/snapshot_store.h"

namespace drover::raft {
namespace {

constexpr size_t kPiece = 256 << 10;

}  // namespace

void ScrubLoop::close() {
  const MutexLock lock(mutex_);
  is_closed_ = true;
  wake_.notify_one();
}

bool ScrubLoop::wait() {
  if (options_.scrub_interval <= options_.scrub_interval.zero()) return false;
  MutexLock lock(mutex_);
  while (!is_closed_ && clock_.steady() < due_) wake_.wait_for(lock, due_ - clock_.steady());
  return !is_closed_;
}

bool ScrubLoop::step() {
  DROVER_ASSERT_ON(thread);
  if (options_.scrub_interval <= options_.scrub_interval.zero() || clock_.steady() < due_) return false;
  if (!is_under_way_) begin();
  next_ = std::max(next_, log_.first_index());  // what was compacted away meanwhile does not matter any more
  if (next_ <= log_end_) {
    read_log();
  } else if (reading_ || !snapshots_left_.empty()) {
    read_snapshot();
  } else {
    end();
  }
  return true;
}

void ScrubLoop::begin() {
  is_under_way_ = true;
  errors_ = 0;
  next_ = log_.first_index();
  log_end_ = log_.durable_index();
  const std::vector<SnapshotInfo> kept = snapshots_.list();
  snapshots_left_.assign(kept.begin(), kept.end());
}

void ScrubLoop::read_log() {
  const Log::Verified verified = log_.verify(next_);
  const bool is_gone = verified.status.code() == Code::out_of_range;
  if (!verified.status.ok() && !is_gone) found(verified.status);
  next_ = std::max(verified.next, next_ + 1);
  has_read(verified.bytes);
}

void ScrubLoop::read_snapshot() {
  Status status = ok_status();
  size_t size = 0;
  if (!reading_) {
    const SnapshotInfo snapshot = snapshots_left_.front();
    snapshots_left_.pop_front();
    Result<std::unique_ptr<ByteSource>> opened = snapshots_.read(snapshot);
    if (opened.ok()) {
      reading_ = *std::move(opened);
    } else if (std::ranges::count(snapshots_.list(), snapshot.index, &SnapshotInfo::index) != 0) {
      status = opened.status();  // otherwise newer ones have taken its place
    }
  } else {
    std::string bytes(kPiece, '\0');
    const Result<size_t> got = reading_->read(bytes);
    status = got.status();
    size = got.ok() ? *got : 0;
    if (size == 0) reading_.reset();
  }
  if (!status.ok()) found(status);
  has_read(size);
}

// Logs the first of a round and counts the others.
void ScrubLoop::found(const Status& what) {
  if (++errors_ == 1) {
    log::error("raft",
               "the disk no longer holds what was confirmed; this server works on, and asks the leader for what is "
               "damaged when it is restarted",
               {{"error", what.message()}});
  }
  board_.update_stats([](Stats& stats) { ++stats.scrub_errors; });
}

void ScrubLoop::end() {
  is_under_way_ = false;
  log::debug("raft", "log and snapshots were read again", {{"errors", errors_}});
  board_.update_stats([this](Stats& stats) {
    ++stats.scrub_rounds;
    stats.is_rotten = errors_ != 0;
  });
  due_ = clock_.steady() + options_.scrub_interval;
}

void ScrubLoop::has_read(uint64_t bytes) {
  due_ = clock_.steady() +
         std::chrono::nanoseconds(bytes * 1'000'000'000 / std::max<uint64_t>(options_.scrub_rate_bytes, 1));
}

}  // namespace drover::raft
