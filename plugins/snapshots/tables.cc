#include "tables.h"

#include <algorithm>
#include <cstdlib>

#include "drover/byte_stream.h"
#include "drover/crc32c.h"
#include "drover/keys.h"
#include "drover/log.h"
#include "drover/sha256.h"

namespace drover::snapshots {
namespace {

std::string key_of(const v1::RestoreChunk& chunk) {
  return KeyBuilder().text(chunk.restore_id()).number(chunk.number()).take();
}

KeyRange chunks_of(std::string_view restore_id) { return KeyRange::prefix(KeyBuilder().text(restore_id).view()); }

// The chunks' data, one after the other. Rows that die during a transaction stay readable to its end.
class ChunkSource final : public ByteSource {
 public:
  explicit ChunkSource(std::vector<std::string_view> rows) : rows_(std::move(rows)) {}

  Result<size_t> read(std::span<char> buffer) override {
    while (at_ == data_.size()) {
      if (next_ == rows_.size()) return size_t{0};
      v1::RestoreChunk chunk = Chunks::parse(rows_[next_++]);
      data_ = std::move(*chunk.mutable_data());
      at_ = 0;
    }
    const size_t n = data_.copy(buffer.data(), buffer.size(), at_);
    at_ += n;
    return n;
  }

 private:
  const std::vector<std::string_view> rows_;
  size_t next_ = 0;
  std::string data_;
  size_t at_ = 0;
};

// The chunks in order, when they are all there and whole.
Result<std::vector<std::string_view>> gather(const v1::StateRestored& command, const ReadView& rows, Chunks chunks) {
  std::vector<std::string_view> found;
  Sha256 sum;
  const auto cursor = rows.scan(chunks.id(), kPrimary, chunks_of(command.restore_id()));
  for (; cursor->valid(); cursor->next()) {
    const v1::RestoreChunk chunk = Chunks::parse(cursor->row());
    if (chunk.number() != found.size() || crc32c(chunk.data()) != chunk.crc())
      return data_loss("restore " + command.restore_id() + ": chunk " + std::to_string(found.size()) + " is damaged");
    sum.add(chunk.data());
    found.push_back(cursor->row());
  }
  if (found.size() != command.chunks()) {
    return data_loss("restore " + command.restore_id() + ": " + std::to_string(found.size()) + " of " +
                     std::to_string(command.chunks()) + " chunks are there");
  }
  if (sum.take() != command.sha256()) return data_loss("restore " + command.restore_id() + ": its sum is wrong");
  return found;
}

class Commands {
 public:
  explicit Commands(Chunks chunks) : chunks_(chunks) {}

  Result<std::string> chunk_added(const v1::RestoreChunkAdded& command, ApplyContext& context) const {
    if (crc32c(command.chunk().data()) != command.chunk().crc())
      return data_loss("restore " + command.chunk().restore_id() + ": a chunk's checksum is wrong");
    DROVER_RETURN_IF_ERROR(chunks_.put(context.rows(), command.chunk()));
    return std::string();
  }

  Result<std::string> state_restored(const v1::StateRestored& command, ApplyContext& context) const {
    // Indexes in rows and answers never lie ahead of the log's.
    if (command.index() >= context.index()) {
      return Status(Code::out_of_range, "restore " + command.restore_id() + ": its state is of index " +
                                            std::to_string(command.index()) + ", which the log has not passed");
    }
    DROVER_TRY(std::vector<std::string_view> rows, gather(command, context.rows(), chunks_));
    ChunkSource source(std::move(rows));
    const Status status = context.rows().replace_all(source);
    if (status.code() == Code::failed_precondition) {
      // The leader knows the format and every table of it: going on without them would fork the state.
      log::error("apply",
                 "a state that the leader restores cannot be read here; install the plugins and the version that the "
                 "other servers have",
                 {{"index", context.index()}, {"error", status.message()}});
      std::_Exit(3);
    }
    DROVER_RETURN_IF_ERROR(status);
    return std::string();
  }

  Result<std::string> restores_dropped(const v1::RestoresDropped& command, ApplyContext& context) const {
    for (const std::string& id : command.restore_ids()) {
      std::vector<std::string> keys;
      for (auto at = context.rows().scan(chunks_.id(), kPrimary, chunks_of(id)); at->valid(); at->next())
        keys.emplace_back(at->key());
      for (const std::string& key : keys) chunks_.erase(context.rows(), key);
    }
    return std::string();
  }

  // An empty entry: it moves the log's index.
  Result<std::string> log_advanced(const v1::LogAdvanced&, ApplyContext&) const { return std::string(); }

 private:
  const Chunks chunks_;
};

}  // namespace

Result<Chunks> declare_table(Declarations& declare) {
  return declare.table<v1::RestoreChunk>(
      "restore_chunks", {}, [](const v1::RestoreChunk& chunk, RowKeys& keys) { keys.primary(key_of(chunk)); });
}

Status declare_commands(Declarations& declare, Chunks chunks) {
  auto commands = std::make_shared<Commands>(chunks);
  DROVER_RETURN_IF_ERROR(declare.command<&Commands::chunk_added>(commands));
  DROVER_RETURN_IF_ERROR(declare.command<&Commands::state_restored>(commands));
  DROVER_RETURN_IF_ERROR(declare.command<&Commands::restores_dropped>(commands));
  return declare.command<&Commands::log_advanced>(commands);
}

std::vector<std::string> abandoned(const ReadView& view, Chunks chunks, int64_t time) {
  std::vector<std::string> ids;
  chunks.scan(view, kPrimary, KeyRange::all(), [&](const v1::RestoreChunk& chunk, std::string_view) {
    if (chunk.time() < time && (ids.empty() || ids.back() != chunk.restore_id())) ids.push_back(chunk.restore_id());
    return true;
  });
  return ids;
}

}  // namespace drover::snapshots
