#include "restore.h"

#include <algorithm>
#include <chrono>
#include <optional>

#include "drover/crc32c.h"
#include "drover/log.h"
#include "drover/mutex.h"
#include "drover/sha256.h"
#include "drover/uuid.h"
#include "snapshots.pb.h"
#include "storage/state_snapshot.h"

namespace drover::snapshots {
namespace {

using namespace std::chrono_literals;

constexpr size_t kChunk = (1 << 20) - 4096;  // with its frame below the size at which an entry counts as large
constexpr size_t kChunksUnderWay = 8;
constexpr size_t kEmptyUnderWay = 8192;
constexpr auto kProposeTime = 60s;
constexpr auto kReplaceTime = 10min;  // for the command that loads the whole state
constexpr auto kReportEvery = 5s;

// Proposals, several of which are under way at a time. The first error ends it.
class Pipeline {
 public:
  Pipeline(Host& host, size_t most) : host_(host), shared_(std::make_shared<Shared>()), most_(most) {}

  template <typename Command>
  Status add(const Command& command) {
    {
      MutexLock lock(shared_->mutex);
      shared_->changed.wait(
          lock, [&]() DROVER_REQUIRES(shared_->mutex) { return shared_->under_way < most_ || !shared_->failure.ok(); });
      if (!shared_->failure.ok()) return shared_->failure;
      ++shared_->under_way;
    }
    host_.propose(Command::descriptor()->full_name(), serialize(command), host_.clock().steady() + kProposeTime, 0,
                  [shared = shared_](const Result<Applied>& applied) {
                    MutexLock lock(shared->mutex);
                    --shared->under_way;
                    if (!applied && shared->failure.ok()) shared->failure = applied.status();
                    shared->changed.notify_all();
                  });
    return ok_status();
  }

  Status finish() {
    MutexLock lock(shared_->mutex);
    // Each is answered by its deadline.
    shared_->changed.wait(lock, [&]() DROVER_REQUIRES(shared_->mutex) { return shared_->under_way == 0; });
    return shared_->failure;
  }

 private:
  struct Shared {
    Mutex mutex;
    CondVar changed;
    size_t under_way DROVER_GUARDED_BY(mutex) = 0;
    Status failure DROVER_GUARDED_BY(mutex);
  };
  Host& host_;
  const std::shared_ptr<Shared> shared_;
  const size_t most_;
};

class KnownTables final : public SnapshotVisitor {
 public:
  explicit KnownTables(Host& host) : host_(host) {}
  Status table(const SnapshotTable& table) override {
    if (host_.find_table(table.name)) return ok_status();
    return failed_precondition("state snapshot: it has a table " + table.name + " of " + table.message +
                               ", which no loaded plugin declares");
  }
  Status row(std::string_view) override { return ok_status(); }

 private:
  Host& host_;
};

// Empty entries, until the log has passed that index: no answer's index ever goes back, and no row's lies ahead.
Status advance_log(Host& host, uint64_t index, const std::stop_token& stop) {
  uint64_t last = host.raft().last_index;
  if (last > index) return ok_status();
  log::info("snapshots", "the log is brought beyond the index of the state to be restored",
            {{"from", last}, {"to", index}});
  Pipeline pipeline(host, kEmptyUnderWay);
  Status status;
  SteadyTime next_report = host.clock().steady() + kReportEvery;
  for (; last <= index && status.ok(); ++last) {
    if (stop.stop_requested()) status = cancelled("the caller has gone");
    if (status.ok()) status = pipeline.add(v1::LogAdvanced());
    if (host.clock().steady() < next_report) continue;
    log::info("snapshots", "the log is being advanced", {{"at", last}, {"to", index}});
    next_report += kReportEvery;
  }
  const Status finished = pipeline.finish();
  return status.ok() ? finished : status;
}

// Fills in what StateRestored says of the chunks.
Status send_chunks(Host& host, TemporaryFile& state, const std::stop_token& stop, v1::StateRestored& command) {
  Pipeline pipeline(host, kChunksUnderWay);
  Sha256 sum;
  Status status;
  state.rewind();
  while (status.ok()) {
    v1::RestoreChunkAdded added;
    v1::RestoreChunk& chunk = *added.mutable_chunk();
    std::string& data = *chunk.mutable_data();
    data.resize(kChunk);
    size_t got = 0;
    while (got < data.size()) {
      DROVER_TRY(const size_t n, state.read(std::span(data).subspan(got)));
      if (n == 0) break;
      got += n;
    }
    if (got == 0) break;
    data.resize(got);
    sum.add(data);
    chunk.set_restore_id(command.restore_id());
    chunk.set_number(command.chunks());
    chunk.set_crc(crc32c(data));
    chunk.set_time(host.clock().wall_ns());
    command.set_chunks(command.chunks() + 1);
    status = stop.stop_requested() ? cancelled("the caller has gone") : pipeline.add(added);
  }
  command.set_sha256(sum.take());
  const Status finished = pipeline.finish();
  return status.ok() ? finished : status;
}

}  // namespace

Status verify_state(Host& host, const ArchiveMeta& meta, TemporaryFile& state) {
  state.rewind();
  KnownTables tables(host);
  DROVER_TRY(const SnapshotContent content, read_state_snapshot(state, tables));
  if (content.index == meta.index) return ok_status();
  return data_loss("snapshot archive: its state is of index " + std::to_string(content.index) +
                   ", its meta.json says " + std::to_string(meta.index));
}

Result<uint64_t> restore_state(Host& host, const ArchiveMeta& meta, TemporaryFile& state, std::stop_token stop) {
  DROVER_RETURN_IF_ERROR(advance_log(host, meta.index, stop));
  v1::StateRestored command;
  command.set_restore_id(Uuid::random().to_string());
  command.set_index(meta.index);
  Status status = send_chunks(host, state, stop, command);
  if (status.ok()) {
    command.set_time(host.clock().wall_ns());
    const auto applied = host.propose(command, host.clock().steady() + kReplaceTime);
    if (applied) return applied->index;
    status = applied.status();
  }
  // Proposed behind the command, whose fate may be open: then it finds its chunks, or none of them.
  v1::RestoresDropped dropped;
  dropped.add_restore_ids(command.restore_id());
  const Status removed = host.propose(dropped, host.clock().steady() + kProposeTime).status();
  if (!removed.ok()) {
    log::warn("snapshots", "the chunks of a failed restore are removed later, by the leader",
              {{"restore", command.restore_id()}, {"error", removed.message()}});
  }
  return status;
}

}  // namespace drover::snapshots
