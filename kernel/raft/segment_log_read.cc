// Reads of the log, from memory and from the disk. [any]
#include <utility>

#include "drover/mutex.h"

#include "kernel/raft/segment_log.h"

namespace drover::raft {

Result<std::vector<Entry>> SegmentLog::read_batch(const Segment& segment, const BatchPlace& place) const {
  std::shared_ptr<File> file;
  {
    const MutexLock lock(segment.opening);
    if (!segment.reader) {
      DROVER_TRY(segment.reader, files_.open(segment.path, OpenMode::read));
    }
    file = segment.reader;
  }
  std::string bytes(place.bytes, '\0');
  DROVER_TRY(const size_t got, file->read(place.offset, bytes));
  if (got == place.bytes) {
    const auto header = decode_batch_header(bytes, batch_seed(segment.seq, segment.salt));
    if (header && header->body_bytes == place.bytes - kBatchHeaderBytes) {
      if (auto entries = decode_body(*header, std::string_view(bytes).substr(kBatchHeaderBytes))) {
        return *std::move(entries);
      }
    }
  }
  return data_loss(segment.path + ": offset " + std::to_string(place.offset) + ": the batch with entry " +
                   std::to_string(place.first) + " is damaged");
}

Result<std::vector<Entry>> SegmentLog::read(Index from, Index to, uint64_t max_bytes) const {
  std::shared_ptr<const Segment> segment;
  BatchPlace place;
  {
    const MutexLock lock(mutex_);
    if (from < index_.first_index() || from > index_.last_index() || to < from) {
      return Status(Code::out_of_range, "entry " + std::to_string(from) + " is not in the log (" +
                                            std::to_string(index_.first_index()) + " to " +
                                            std::to_string(index_.last_index()) + ")");
    }
    if (index_.is_cached(from)) return index_.cached(from, to, max_bytes);
    const std::optional<BatchPlace> found = index_.find(from);
    DROVER_CHECK(found.has_value());
    place = *found;
    segment = segments_.at(place.segment);
  }
  DROVER_TRY(std::vector<Entry> batch, read_batch(*segment, place));
  std::vector<Entry> entries;
  uint64_t bytes = 0;
  for (Entry& entry : batch) {
    if (entry.index < from || entry.index > std::min(to, place.last)) continue;
    bytes += entry_bytes(entry);
    if (!entries.empty() && bytes > max_bytes) break;
    entries.push_back(std::move(entry));
  }
  if (entries.empty()) return data_loss(segment->path + ": entry " + std::to_string(from) + " is not in its batch");
  return entries;
}

Log::Verified SegmentLog::verify(Index index) const {
  std::shared_ptr<const Segment> segment;
  BatchPlace place;
  {
    const MutexLock lock(mutex_);
    const std::optional<BatchPlace> found =
        index >= index_.first_index() && index <= durable_ ? index_.find(index) : std::nullopt;
    if (!found) return {.status = Status(Code::out_of_range, "entry " + std::to_string(index) + " is not on the disk")};
    place = *found;
    segment = segments_.at(place.segment);
  }
  return {.status = read_batch(*segment, place).status(), .next = place.last + 1, .bytes = place.bytes};
}

ClusterId SegmentLog::cluster_id() const {
  const MutexLock lock(mutex_);
  return cluster_id_;
}

Status SegmentLog::join_cluster(ClusterId cluster) {
  const MutexLock lock(mutex_);
  if (cluster_id_.is_zero()) cluster_id_ = cluster;
  if (cluster_id_ == cluster) return ok_status();
  return failed_precondition("this server is part of cluster " + cluster_id_.to_string() + ", not of " +
                             cluster.to_string());
}

Result<Term> SegmentLog::term_at(Index index) const {
  const MutexLock lock(mutex_);
  if (index + 1 < index_.first_index() || index > index_.last_index()) {
    return Status(Code::out_of_range, "the term of entry " + std::to_string(index) + " is not in the log");
  }
  return index_.terms().term_at(index);
}

TermRuns SegmentLog::terms() const {
  const MutexLock lock(mutex_);
  return index_.terms();
}

Index SegmentLog::first_index() const {
  const MutexLock lock(mutex_);
  return index_.first_index();
}

Index SegmentLog::last_index() const {
  const MutexLock lock(mutex_);
  return index_.last_index();
}

Index SegmentLog::durable_index() const {
  const MutexLock lock(mutex_);
  return durable_;
}

Index SegmentLog::trail_start(Index upto, uint64_t bytes) const {
  const MutexLock lock(mutex_);
  return index_.trail_start(upto, bytes);
}

LogStats SegmentLog::stats() const {
  const MutexLock lock(mutex_);
  LogStats stats = stats_;
  stats.segments = segments_.size();
  stats.spare_segments = spares_.size();
  stats.is_direct = is_direct_;
  return stats;
}

}  // namespace drover::raft
