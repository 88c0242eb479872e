#include "kernel/raft/segment_log.h"

#include <pthread.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <utility>

#include "drover/crc32c.h"
#include "drover/log.h"
#include "storage/segment_repair.h"

namespace drover::raft {
namespace {

constexpr uint64_t kFillStep = 1 << 20;

uint64_t random_number() { return get<uint64_t>(Uuid::random().bytes().data()); }

// True when the file system takes direct writes; network and memory file systems may not.
bool probe_direct(FileSystem& files, const std::string& directory) {
  const std::string path = directory + "/tmp-probe";
  AlignedBuffer block;
  block.reset(kBlock);
  bool works = false;
  if (auto file = files.open(path, OpenMode::create); file.ok() && (*file)->write(0, block.view()).ok()) {
    auto direct = files.open(path, OpenMode::write_direct);
    works = direct.ok() && (*direct)->write(0, block.view()).ok();
  }
  (void)files.remove(path);
  return works;
}

}  // namespace

void exit_on_storage_failure(const Status& status) {
  log::error("raft", "the log can no longer be written, this process ends to protect what was acknowledged",
             {{"error", status.message()}, {"exit_code", kStorageExitCode}});
  std::_Exit(kStorageExitCode);
}

Result<std::unique_ptr<SegmentLog>> SegmentLog::open(FileSystem& files, SegmentLogOptions options) {
  const std::string& directory = options.directory;
  DROVER_RETURN_IF_ERROR(files.make_directory(directory));
  // The directory's own name must survive a power failure as its content does.
  const std::filesystem::path parent = std::filesystem::path(directory).parent_path();
  DROVER_RETURN_IF_ERROR(files.sync_directory(parent.empty() ? "." : parent.string()));
  DROVER_TRY(std::unique_ptr<FileLock> lock, files.lock(directory + "/LOCK"));
  DROVER_TRY(Recovery recovery,
             recover_directory(files, directory, options.cluster_id, options.node_id, options.cache_bytes));
  const bool is_direct = options.allow_direct && probe_direct(files, directory);
  const LogState& state = recovery.state;
  if (state.torn_bytes > 0) {
    log::warn("raft", "cut a torn write from the end of the log, it had never been confirmed",
              {{"bytes", state.torn_bytes}, {"last_index", state.last_index}});
  }
  log::info("raft", "the log is open",
            {{"directory", directory},
             {"first_index", state.first_index},
             {"last_index", state.last_index},
             {"term", state.hard_state.term},
             {"mode", is_direct ? "direct" : "fdatasync"}});
  if (recovery.node_id.is_zero()) recovery.node_id = NodeId::random();
  DROVER_RETURN_IF_ERROR(lock->describe("node " + recovery.node_id.to_string() + "\nincarnation " +
                                        std::to_string(random_number()) + "\n"));
  const SegmentInfo last = recovery.segments.empty() ? SegmentInfo() : recovery.segments.back();
  std::unique_ptr<SegmentLog> log(
      new SegmentLog(files, std::move(options), std::move(recovery), std::move(lock), is_direct));
  DROVER_RETURN_IF_ERROR(log->resume(last));
  return log;
}

SegmentLog::SegmentLog(FileSystem& files, SegmentLogOptions options, Recovery recovery, std::unique_ptr<FileLock> lock,
                       bool is_direct)
    : files_(files),
      options_(std::move(options)),
      recovered_(recovery.state),
      node_id_(recovery.node_id),
      lock_(std::move(lock)),
      is_direct_(is_direct),
      batch_seq_(recovery.batch_seq),
      chain_(recovery.chain),
      write_seq_(recovery.state.write_seq),
      hard_state_(recovery.state.hard_state),
      membership_(recovery.state.membership),
      written_(recovery.index.terms()),
      cluster_id_(recovery.cluster_id),
      index_(std::move(recovery.index)),
      durable_(recovery.state.last_index) {
  for (const SegmentInfo& info : recovery.segments) {
    auto segment = std::make_shared<Segment>();
    segment->seq = info.seq;
    segment->salt = info.salt;
    segment->capacity = info.capacity;
    segment->max_index = info.max_index;
    segment->path = options_.directory + "/" + segment_name(info.seq);
    segments_.emplace(info.seq, std::move(segment));
  }
  for (const std::string& name : recovery.spares) {
    const std::string path = options_.directory + "/" + name;
    const auto file = files_.open(path, OpenMode::read);
    const Result<uint64_t> size = file.ok() ? (*file)->size() : file.status();
    // A spare carries nothing, so one that cannot be read costs only its place.
    if (size.ok()) spares_.push_back({.path = path, .size = *size, .is_recycled = true});
    uint64_t number = 0;
    for (char c : name.substr(6)) number = number * 10 + (c >= '0' && c <= '9' ? static_cast<uint64_t>(c - '0') : 0);
    next_file_ = std::max(next_file_, number + 1);
  }
}

SegmentLog::~SegmentLog() { stop(); }

// After an orderly stop the last segment is continued; after any other it is never written again.
Status SegmentLog::resume(const SegmentInfo& last) {
  if (!recovered_.was_clean || last.end + 2 * kBlock > last.capacity) return ok_status();
  const std::string path = options_.directory + "/" + segment_name(last.seq);
  DROVER_TRY(active_, files_.open(path, is_direct_ ? OpenMode::write_direct : OpenMode::write));
  active_seed_ = batch_seed(last.seq, last.salt);
  offset_ = last.end;
  const MutexLock lock(mutex_);
  active_capacity_ = last.capacity;
  active_used_ = last.end;
  return ok_status();
}

void SegmentLog::start(std::function<void(uint64_t)> on_durable) {
  DROVER_CHECK(!writer_.joinable());
  on_durable_ = std::move(on_durable);
  writer_ = std::thread([this] { run(); });
  filler_ = std::thread([this] { run_fill(); });
}

void SegmentLog::stop() {
  {
    const MutexLock lock(mutex_);
    is_stopping_ = true;
  }
  wake_.notify_all();
  wake_fill_.notify_all();
  if (writer_.joinable()) writer_.join();
  if (filler_.joinable()) filler_.join();
}

void SegmentLog::submit(LogWrite write) {
  {
    const MutexLock lock(mutex_);
    if (is_stopping_ || has_failed_) return;
    if (write.start_over) {
      DROVER_CHECK(write.first_index > 0 && write.truncate_from == 0);
      index_.start_over(write.first_index, write.prev_term);
      for (Unconfirmed& former : unconfirmed_) former.last = 0;
      durable_ = std::min(durable_, write.first_index - 1);
    } else if (write.truncate_from != 0) {
      index_.truncate(write.truncate_from);
      for (Unconfirmed& former : unconfirmed_) former.last = std::min(former.last, write.truncate_from - 1);
      durable_ = std::min(durable_, write.truncate_from - 1);
    }
    index_.append(write.entries);
    if (!write.start_over) index_.compact(write.first_index);
    unconfirmed_.push_back({write.write_seq, index_.last_index()});
    for (const Entry& entry : write.entries) stats_.queued_bytes += entry_bytes(entry);
    pending_.push_back(std::move(write));
  }
  wake_.notify_one();
}

std::vector<LogWrite> SegmentLog::take() {
  std::vector<LogWrite> writes;
  uint64_t bytes = 0;
  while (!pending_.empty()) {
    const LogWrite& next = pending_.front();
    for (const Entry& entry : next.entries) bytes += entry_bytes(entry);
    if (!writes.empty() && (next.truncate_from != 0 || next.start_over || bytes > options_.max_batch_bytes)) break;
    writes.push_back(std::move(pending_.front()));
    pending_.pop_front();
  }
  return writes;
}

Status SegmentLog::mark_damaged() {
  Recovery mark(0);
  mark.state = recovered_;
  mark.cluster_id = cluster_id();
  mark.node_id = node_id_;
  mark.batch_seq = batch_seq_;
  recovered_.is_damaged = true;
  return write_damage_mark(files_, options_.directory, mark);
}

void SegmentLog::mark_whole() {
  const MutexLock lock(mutex_);
  is_whole_again_ = true;
  wake_.notify_one();
}

void SegmentLog::run() {
  pthread_setname_np(pthread_self(), "log");
  log_thread_.bind();
  for (Idle idle = Idle::nothing; idle != Idle::close;) {
    {
      MutexLock lock(mutex_);
      const auto has_work = [&]() DROVER_REQUIRES(mutex_) {
        return !pending_.empty() || is_stopping_ || is_whole_again_;
      };
      idle = Idle::nothing;
      if (is_confirmed_) {
        wake_.wait(lock, has_work);
      } else if (!wake_.wait_for(lock, options_.idle_confirm, has_work)) {
        idle = Idle::confirm;
      }
      if (pending_.empty() && is_stopping_) idle = Idle::close;
    }
    if (!write_step(idle)) return;
  }
}

bool SegmentLog::write_step(Idle idle) {
  DROVER_ASSERT_ON(log_thread_);
  std::vector<LogWrite> writes;
  bool is_whole_again = false;
  {
    const MutexLock lock(mutex_);
    if (has_failed_) return false;
    is_whole_again = std::exchange(is_whole_again_, false);
    if (!is_whole_again) writes = take();
  }
  if (is_whole_again) {
    const Status removed = remove_damage_mark(files_, options_.directory);
    if (!removed.ok()) log::warn("raft", "the damage mark stays until the next start", {{"error", removed.message()}});
    return true;
  }
  if (writes.empty() && (idle == Idle::nothing || (idle == Idle::confirm && is_confirmed_))) return false;
  const uint64_t newest = writes.empty() ? 0 : writes.back().write_seq;
  const uint32_t flags = newest != 0 ? 0 : idle == Idle::close ? BatchHeader::kClose : BatchHeader::kConfirm;
  const Index former_first = written_.first_index();
  Status status = write_batch(std::move(writes), flags);
  if (status.ok()) {
    if (newest != 0) on_durable_(newest);
    if (written_.first_index() > former_first) status = drop_segments();
  }
  if (status.ok()) return true;
  {
    const MutexLock lock(mutex_);
    has_failed_ = true;
    pending_.clear();
  }
  options_.on_failure(status);
  return false;
}

Status SegmentLog::write_batch(std::vector<LogWrite> writes, uint32_t flags) {
  uint64_t body = 0;
  uint64_t payload = 0;
  uint32_t count = 0;
  for (const LogWrite& write : writes) {
    for (const Entry& entry : write.entries) {
      body += entry_bytes(entry);
      payload += entry.bytes().size();
      ++count;
    }
  }
  DROVER_CHECK(body <= UINT32_MAX);
  const uint64_t total = round_up(kBatchHeaderBytes + body);
  if (!active_ || offset_ + total > active_capacity_) DROVER_RETURN_IF_ERROR(roll(total));

  BatchHeader header{.batch_seq = batch_seq_ + 1,
                     .body_bytes = static_cast<uint32_t>(body),
                     .entry_count = count,
                     .durable_seq = batch_seq_,
                     .prev_crc = chain_,
                     .flags = flags};
  char* const image = buffer_.reset(total);
  char* out = image + kBatchHeaderBytes;
  Index first = 0;
  for (const LogWrite& write : writes) {
    if (write.start_over) {
      header.flags |= BatchHeader::kStartOver;
      written_.start_over(write.first_index, write.prev_term);
    } else if (write.truncate_from != 0) {
      header.truncate_from = write.truncate_from;
      written_.truncate(write.truncate_from);
    }
    for (const Entry& entry : write.entries) {
      if (first == 0) first = entry.index;
      written_.append(entry.index, entry.term);
      char crc[4];
      put<uint32_t>(crc, encode_entry(entry, out));
      header.body_crc = crc32c({crc, 4}, header.body_crc);
      out += entry_bytes(entry);
    }
    if (!write.start_over) written_.compact(write.first_index);
    if (write.hard_state) hard_state_ = *write.hard_state;
    if (write.membership) membership_ = *write.membership;
    write_seq_ = write.write_seq;
  }
  header.write_seq = write_seq_;
  header.hard_state = hard_state_;
  header.first_index = written_.first_index();
  header.prev_term = written_.prev_term();
  encode_batch_header(header, active_seed_, image);

  const auto before = std::chrono::steady_clock::now();
  DROVER_RETURN_IF_ERROR(write_durably(offset_, {image, total}));
  const auto took = std::chrono::steady_clock::now() - before;

  batch_seq_ = header.batch_seq;
  chain_ = header.crc;
  is_confirmed_ = writes.empty();
  {
    const MutexLock lock(mutex_);
    while (!unconfirmed_.empty() && unconfirmed_.front().write_seq <= write_seq_) {
      durable_ = std::max(durable_, unconfirmed_.front().last);
      unconfirmed_.pop_front();
    }
    Segment& segment = *segments_.rbegin()->second;
    std::optional<BatchPlace> place;
    if (count > 0) {
      place = BatchPlace{.first = first,
                         .last = written_.last_index(),
                         .segment = segment.seq,
                         .offset = offset_,
                         .bytes = kBatchHeaderBytes + body};
      segment.max_index = std::max(segment.max_index, written_.last_index());
    }
    const bool is_start_over = (header.flags & BatchHeader::kStartOver) != 0;
    index_.place(is_start_over ? 1 : header.truncate_from, place, durable_);
    offset_ += total;
    active_used_ = offset_;
    ++(writes.empty() ? stats_.confirm_batches : stats_.batches);
    stats_.entries += count;
    stats_.payload_bytes += payload;
    stats_.written_bytes += total;
    stats_.queued_bytes -= std::min(stats_.queued_bytes, body);
    stats_.sync.add(static_cast<uint64_t>(std::chrono::nanoseconds(took).count()));
    if (spares_.size() < wanted_spares()) wake_fill_.notify_one();
  }
  return ok_status();
}

Status SegmentLog::write_durably(uint64_t offset, std::string_view bytes) {
  DROVER_RETURN_IF_ERROR(active_->write(offset, bytes));
  return is_direct_ ? ok_status() : active_->sync();
}

// Makes the next segment the active one. A segment gets its name only with a durable header, so a damaged header is
// damage and never an unfinished roll.
Status SegmentLog::roll(uint64_t batch_bytes) {
  const uint64_t needed = kBlock + batch_bytes;
  std::optional<Spare> spare;
  std::string fresh;
  const bool is_first = active_capacity_ == 0;
  auto segment = std::make_shared<Segment>();
  {
    const MutexLock lock(mutex_);
    // The first of a run is small: frequent restarts must not eat a full segment each.
    const auto fits = [&](const Spare& s) {
      return s.size >= needed && (!is_first || s.size <= options_.initial_segment_bytes);
    };
    if (auto found = std::ranges::find_if(spares_, fits); found != spares_.end()) {
      spare = *found;
      spares_.erase(found);
    }
    fresh = std::to_string(next_file_++);
    segment->seq = segments_.empty() ? 1 : segments_.rbegin()->first + 1;
  }
  if (!spare) {
    const uint64_t size = std::max(std::min(options_.initial_segment_bytes, options_.segment_bytes), needed);
    spare = Spare{.path = options_.directory + "/tmp-" + fresh, .size = round_up(size)};
    DROVER_RETURN_IF_ERROR(prepare(spare->path, spare->size));
  }
  segment->salt = random_number();
  segment->capacity = spare->size;
  segment->path = options_.directory + "/" + segment_name(segment->seq);
  const OpenMode mode = is_direct_ ? OpenMode::write_direct : OpenMode::write;
  DROVER_TRY(active_, files_.open(spare->path, mode));
  AlignedBuffer block;
  encode_segment_header({.cluster_id = cluster_id(),
                         .node_id = node_id_,
                         .seq = segment->seq,
                         .capacity = segment->capacity,
                         .salt = segment->salt,
                         .next_batch_seq = batch_seq_ + 1,
                         .chain = chain_,
                         .is_recycled = spare->is_recycled,
                         .first_index = written_.first_index(),
                         .prev_term = written_.prev_term(),
                         .last_index = written_.last_index(),
                         .last_term = written_.last_term(),
                         .hard_state = hard_state_,
                         .write_seq = write_seq_,
                         .membership = membership_},
                        block.reset(kBlock));
  DROVER_RETURN_IF_ERROR(write_durably(0, block.view()));
  DROVER_RETURN_IF_ERROR(files_.rename(spare->path, segment->path));
  DROVER_RETURN_IF_ERROR(files_.sync_directory(options_.directory));
  DROVER_TRY(active_, files_.open(segment->path, mode));  // so that errors name the segment
  active_seed_ = batch_seed(segment->seq, segment->salt);
  offset_ = kBlock;
  const MutexLock lock(mutex_);
  active_capacity_ = segment->capacity;
  active_used_ = kBlock;
  fill_failed_ = false;
  segments_.emplace(segment->seq, std::move(segment));
  return ok_status();
}

// The record of the new first index is durable: whole segments behind it may go, oldest first and one by one, so that
// no crash can leave a gap.
Status SegmentLog::drop_segments() {
  while (true) {
    std::shared_ptr<Segment> oldest;
    std::string spare;
    {
      const MutexLock lock(mutex_);
      if (segments_.size() < 2) return ok_status();
      oldest = segments_.begin()->second;
      if (oldest->max_index >= written_.first_index()) return ok_status();
      segments_.erase(segments_.begin());
      // A file that is still being read must keep its content.
      const bool is_free = oldest.use_count() == 1;
      if (is_free && oldest->capacity == options_.segment_bytes && spares_.size() < options_.spare_segments) {
        spare = options_.directory + "/spare-" + std::to_string(next_file_++);
      }
    }
    const Status status = spare.empty() ? files_.remove(oldest->path) : files_.rename(oldest->path, spare);
    if (!status.ok()) return status;
    DROVER_RETURN_IF_ERROR(files_.sync_directory(options_.directory));
    if (!spare.empty()) {
      const MutexLock lock(mutex_);
      spares_.push_back({.path = spare, .size = oldest->capacity, .is_recycled = true});
      ++stats_.recycled_segments;
    }
  }
}

Status SegmentLog::prepare(const std::string& path, uint64_t size) {
  DROVER_TRY(std::unique_ptr<File> file, files_.open(path, OpenMode::create));
  // Past the cache: writes of the active segment never wait for all of this at once.
  if (is_direct_) {
    DROVER_TRY(file, files_.open(path, OpenMode::write_direct));
  }
  AlignedBuffer zeros;
  zeros.reset(std::min(size, kFillStep));
  for (uint64_t offset = 0; offset < size; offset += kFillStep) {
    DROVER_RETURN_IF_ERROR(file->write(offset, zeros.view().substr(0, std::min(kFillStep, size - offset))));
  }
  return file->sync();
}

// Nothing until the active segment is half full: an idle server, or one that lives for a minute, fills no disk.
size_t SegmentLog::wanted_spares() const {
  if (active_capacity_ == 0 || active_used_ * 2 < active_capacity_) return 0;
  return active_capacity_ >= options_.segment_bytes ? options_.spare_segments
                                                    : std::min<size_t>(1, options_.spare_segments);
}

void SegmentLog::run_fill() {
  pthread_setname_np(pthread_self(), "log-fill");
  while (true) {
    {
      MutexLock lock(mutex_);
      wake_fill_.wait(lock, [&]() DROVER_REQUIRES(mutex_) {
        return is_stopping_ || (!fill_failed_ && !has_failed_ && spares_.size() < wanted_spares());
      });
      if (is_stopping_) return;
    }
    (void)fill_step();
  }
}

bool SegmentLog::fill_step() {
  std::string number;
  uint64_t size = 0;
  {
    const MutexLock lock(mutex_);
    if (fill_failed_ || has_failed_ || spares_.size() >= wanted_spares()) return false;
    number = std::to_string(next_file_++);
    size = std::min(options_.segment_bytes, std::max(options_.initial_segment_bytes, active_capacity_ * 4));
  }
  const std::string temporary = options_.directory + "/tmp-" + number;
  const std::string spare = options_.directory + "/spare-" + number;
  Status status = prepare(temporary, size);
  if (status.ok()) status = files_.rename(temporary, spare);
  if (!status.ok()) {
    // The writer makes its own, smaller one when it must; this only warns early.
    (void)files_.remove(temporary);
    const Result<uint64_t> space = files_.free_space(options_.directory);
    log::warn("raft", "a log segment could not be prepared",
              {{"error", status.message()}, {"bytes", size}, {"free_bytes", space.value_or(0)}});
  }
  const MutexLock lock(mutex_);
  if (status.ok()) {
    spares_.push_back({.path = spare, .size = size});
  } else {
    fill_failed_ = true;  // until the next roll
  }
  return true;
}

}  // namespace drover::raft
