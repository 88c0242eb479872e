#include "rpc.h"

#include <chrono>

#include "drover/base64.h"
#include "drover/config.h"
#include "drover/log.h"
#include "drover/sha256.h"
#include "restore.h"
#include "storage/snapshot_archive.h"
#include "temporary_file.h"

namespace drover::snapshots {
namespace {

using namespace std::chrono_literals;

constexpr auto kSaveTime = 10min;
constexpr auto kPieceTime = 60s;  // how long the next piece of an upload may take
constexpr size_t kPiece = 256 << 10;

// Keeps the sum of what goes through it.
class SummedSink final : public ByteSink {
 public:
  explicit SummedSink(ByteSink& out) : out_(out) {}
  Status write(std::string_view bytes) override {
    sum_.add(bytes);
    return out_.write(bytes);
  }
  std::string take() { return sum_.take(); }

 private:
  ByteSink& out_;
  Sha256 sum_;
};

// False while somebody else holds the flag.
class Exclusive {
 public:
  explicit Exclusive(std::atomic<bool>& flag) : flag_(flag), has_(!flag.exchange(true)) {}
  ~Exclusive() {
    if (has_) flag_ = false;
  }
  Exclusive(const Exclusive&) = delete;
  explicit operator bool() const { return has_; }

 private:
  std::atomic<bool>& flag_;
  const bool has_;
};

ArchiveMeta describe(Host& host, const RaftControl::Snapshot& saved, uint64_t size) {
  ArchiveMeta meta{.index = saved.index, .term = saved.term, .size = size, .created_by = host.agent().version};
  meta.id = std::to_string(saved.term) + "-" + std::to_string(saved.index) + "-" +
            std::to_string(host.clock().wall_ns() / 1'000'000);
  for (const RaftServer& server : host.raft().servers) {
    meta.servers.push_back({.id = server.id.to_string(), .address = server.address, .is_voter = server.is_voter});
  }
  return meta;
}

// Damage is the sender's fault: 400, as every body that cannot be used.
Status blame_sender(const Status& status) {
  if (status.code() == Code::data_loss || status.code() == Code::failed_precondition)
    return invalid_argument(status.message());
  if (status.code() == Code::out_of_range) return with_http_status(invalid_argument(status.message()), 413);
  return status;
}

}  // namespace

Status Rpc::declare(Declarations& declare) {
  DROVER_RETURN_IF_ERROR(declare.configuration(
      "plugin", {.options = {{.name = "max_snapshot_bytes",
                              .type = ConfigType::bytes,
                              .default_text = "16GiB",
                              .help = "Largest archive, and largest state in one, that a restore accepts."}}}));
  return declare.service("drover.v1.OperatorSnapshot",
                         {stream<&Rpc::save>("Save", this), stream<&Rpc::restore>("Restore", this)});
}

Status Rpc::start(Host& host) {
  host_ = &host;
  folder_ = host.agent().data_dir + "/server";
  const ConfigBlock* own = host.configuration("plugin");
  most_bytes_ = own ? own->bytes("max_snapshot_bytes", 16ULL << 30) : 16ULL << 30;
  return ok_status();
}

Status Rpc::save(const v1::SaveSnapshotRequest&, Call& call, Replies<v1::SaveSnapshotResponse>& replies) {
  DROVER_TRY(const auto state, TemporaryFile::create(folder_));
  DROVER_TRY(const RaftControl::Snapshot saved,
             host_->raft_control()->save_snapshot(
                 call.query().stale,
                 [&](std::string_view bytes) {
                   return call.stop().stop_requested() ? cancelled("the caller has gone") : state->write(bytes);
                 },
                 host_->clock().steady() + kSaveTime));
  // The whole archive first: its sum stands in the answer's header, and a failure is an error answer.
  DROVER_TRY(const auto archive, TemporaryFile::create(folder_));
  SummedSink out(*archive);
  const ArchiveMeta meta = describe(*host_, saved, state->size());
  DROVER_RETURN_IF_ERROR(write_archive(meta, *state, out));
  v1::SaveSnapshotResponse piece;
  piece.set_digest("sha-256=" + base64_encode(out.take()));
  while (true) {
    piece.mutable_data()->resize(kPiece);
    DROVER_TRY(const size_t n, archive->read(*piece.mutable_data()));
    if (n == 0) break;
    piece.mutable_data()->resize(n);
    if (!replies.send(piece)) return cancelled("the caller has gone");
    piece.clear_digest();
  }
  log::info("snapshots", "the state was saved for an operator",
            {{"id", meta.id}, {"index", meta.index}, {"bytes", archive->size()}});
  return ok_status();
}

Status Rpc::restore(const v1::RestoreSnapshotRequest& first, Call& call,
                    Replies<v1::RestoreSnapshotResponse>& replies) {
  return receive_and_restore(first, call, replies.raw());
}

Status Rpc::receive_and_restore(const v1::RestoreSnapshotRequest& first, Call& call, MessageStream& pieces) {
  Exclusive only(is_restoring_);
  if (!only) return with_http_status(failed_precondition("another restore is under way on this server"), 409);
  DROVER_TRY(const auto archive, TemporaryFile::create(folder_));
  DROVER_RETURN_IF_ERROR(archive->write(first.data()));
  while (const auto message = pieces.receive(host_->clock().steady() + kPieceTime)) {
    DROVER_TRY(const auto piece, parse_message<v1::RestoreSnapshotRequest>(*message));
    if (archive->size() + piece.data().size() > most_bytes_) {
      return blame_sender(Status(Code::out_of_range, "the snapshot is larger than max_snapshot_bytes, " +
                                                         std::to_string(most_bytes_) + " bytes"));
    }
    DROVER_RETURN_IF_ERROR(archive->write(piece.data()));
  }
  if (call.stop().stop_requested()) return cancelled("the caller has gone");
  if (archive->size() == 0) return invalid_argument("Request body is empty");
  DROVER_TRY(const auto state, TemporaryFile::create(folder_));
  const Result<ArchiveMeta> meta = read_archive(*archive, *state, most_bytes_);
  if (!meta) return blame_sender(meta.status());
  if (const Status status = verify_state(*host_, *meta, *state); !status.ok()) return blame_sender(status);
  log::warn("snapshots", "an operator restores a saved state", {{"id", meta->id}, {"index", meta->index}});
  const Result<uint64_t> index = restore_state(*host_, *meta, *state, call.stop());
  if (!index) return index.status();
  log::warn("snapshots", "the state was replaced by a saved one",
            {{"id", meta->id}, {"saved_at", meta->index}, {"index", *index}});
  return ok_status();
}

}  // namespace drover::snapshots
