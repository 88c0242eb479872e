#include "kernel/raft/snapshot_store.h"

#include <algorithm>
#include <utility>

#include "drover/crc32c.h"
#include "drover/log.h"
#include "storage/segment_repair.h"
#include "storage/snapshot_files.h"

namespace drover::raft {
namespace {

std::string digits(uint64_t value) {
  std::string text = std::to_string(value);
  return std::string(20 - text.size(), '0') + text;
}

class ChunkWriter final : public ByteSink {
 public:
  ChunkWriter(File& file, const std::function<bool()>& is_cancelled) : file_(file), is_cancelled_(is_cancelled) {}

  Status begin() {
    char head[kDataHeader];
    encode_data_header(head);
    return file_.write(0, {head, sizeof head});
  }
  Status write(std::string_view bytes) override {
    while (!bytes.empty()) {
      const size_t n = std::min(bytes.size(), SnapshotStore::kChunkBytes + kChunkHeader - chunk_.size());
      chunk_.append(bytes.substr(0, n));
      bytes.remove_prefix(n);
      if (chunk_.size() == SnapshotStore::kChunkBytes + kChunkHeader) DROVER_RETURN_IF_ERROR(flush());
    }
    return ok_status();
  }
  Status flush() {
    if (is_cancelled_()) return cancelled("the snapshot was given up");
    const std::string_view payload = std::string_view(chunk_).substr(kChunkHeader);
    if (payload.empty()) return ok_status();
    put<uint32_t>(chunk_.data(), static_cast<uint32_t>(payload.size()));
    put<uint32_t>(chunk_.data() + 4, crc32c(payload));
    crc_ = crc32c(payload, crc_);
    bytes_ += payload.size();
    ++chunks_;
    DROVER_RETURN_IF_ERROR(file_.write(offset_, chunk_));
    offset_ += chunk_.size();
    chunk_.resize(kChunkHeader);
    return ok_status();
  }
  void describe(Manifest& manifest) const {
    manifest.info.bytes = bytes_;
    manifest.chunks = chunks_;
    manifest.data_crc = crc_;
  }

 private:
  File& file_;
  const std::function<bool()>& is_cancelled_;
  std::string chunk_ = std::string(kChunkHeader, '\0');
  uint64_t offset_ = kDataHeader;
  uint64_t bytes_ = 0;
  uint64_t chunks_ = 0;
  uint32_t crc_ = 0;
};

Result<SnapshotInfo> verify_in(FileSystem& files, const std::string& directory, const SnapshotInfo& snapshot) {
  DROVER_TRY(Manifest manifest, read_manifest(files, directory));
  if (manifest.info.index != snapshot.index || manifest.info.term != snapshot.term) {
    return data_loss(directory + "/manifest: offset 16: describes another snapshot");
  }
  DROVER_TRY(const std::unique_ptr<ByteSource> source, read_snapshot_data(files, directory));
  std::string buffer(SnapshotStore::kChunkBytes, '\0');
  while (true) {
    DROVER_TRY(const size_t n, source->read(buffer));
    if (n == 0) return manifest.info;
  }
}

}  // namespace

Result<std::unique_ptr<SnapshotStore>> SnapshotStore::open(FileSystem& files, std::string directory) {
  std::unique_ptr<SnapshotStore> store(new SnapshotStore(files, std::move(directory)));
  DROVER_TRY(const std::vector<std::string> names, files.list(store->directory_));
  const MutexLock lock(store->mutex_);
  for (const std::string& name : names) {
    if (name.starts_with("part-")) DROVER_RETURN_IF_ERROR(store->discard(store->directory_ + "/" + name));
    if (const auto info = parse_snapshot_name(name)) store->kept_.push_back({*info, name.starts_with("recv-")});
  }
  std::ranges::sort(store->kept_, std::ranges::greater(), [](const Kept& kept) { return kept.info.index; });
  return store;
}

std::string SnapshotStore::path(const SnapshotInfo& snapshot, const char* prefix) const {
  return directory_ + "/" + prefix + digits(snapshot.index) + "-" + digits(snapshot.term);
}

std::string SnapshotStore::place(const SnapshotInfo& snapshot) const {
  return path(snapshot, was_received(snapshot) ? "recv-" : "snap-");
}

Status SnapshotStore::discard(const std::string& directory) {
  DROVER_TRY(const std::vector<std::string> names, files_.list(directory));
  for (const std::string& name : names) DROVER_RETURN_IF_ERROR(files_.remove(directory + "/" + name));
  return files_.remove(directory);
}

std::vector<SnapshotInfo> SnapshotStore::list() const {
  const MutexLock lock(mutex_);
  std::vector<SnapshotInfo> all;
  for (const Kept& kept : kept_) all.push_back(kept.info);
  return all;
}

bool SnapshotStore::was_received(const SnapshotInfo& snapshot) const {
  const MutexLock lock(mutex_);
  return std::ranges::any_of(kept_, [&](const Kept& kept) {
    return kept.was_received && kept.info.index == snapshot.index && kept.info.term == snapshot.term;
  });
}

Status SnapshotStore::keep(const SnapshotInfo& snapshot, const std::string& part, bool was_received) {
  DROVER_RETURN_IF_ERROR(files_.sync_directory(part));
  DROVER_RETURN_IF_ERROR(files_.rename(part, path(snapshot, was_received ? "recv-" : "snap-")));
  DROVER_RETURN_IF_ERROR(files_.sync_directory(directory_));
  std::vector<std::pair<std::string, std::string>> old;
  {
    const MutexLock lock(mutex_);
    kept_.push_back({snapshot, was_received});
    std::ranges::sort(kept_, std::ranges::greater(), [](const Kept& kept) { return kept.info.index; });
    while (kept_.size() > kKept) {
      const Kept& oldest = kept_.back();
      old.emplace_back(path(oldest.info, oldest.was_received ? "recv-" : "snap-"), path(oldest.info, "part-"));
      kept_.pop_back();
    }
  }
  for (const auto& [name, doomed] : old) {
    // Renamed first: half a snapshot must not look like a damaged one.
    Status status = files_.rename(name, doomed);
    if (status.ok()) status = discard(doomed);
    if (!status.ok()) log::warn("raft", "an old snapshot could not be removed", {{"error", status.message()}});
  }
  return ok_status();
}

Result<SnapshotInfo> SnapshotStore::save(Index index, Term term, const Membership& membership, SnapshotSource& source,
                                         const std::function<bool()>& is_cancelled) {
  Manifest manifest{.info = {.index = index, .term = term, .membership = membership}};
  const std::string part = path(manifest.info, "part-");
  const auto write = [&]() -> Status {
    DROVER_RETURN_IF_ERROR(files_.make_directory(part));
    DROVER_TRY(const std::unique_ptr<File> data, files_.open(part + "/data", OpenMode::create));
    ChunkWriter writer(*data, is_cancelled);
    DROVER_RETURN_IF_ERROR(writer.begin());
    DROVER_RETURN_IF_ERROR(source.write(writer));
    DROVER_RETURN_IF_ERROR(writer.flush());
    DROVER_RETURN_IF_ERROR(data->sync());
    writer.describe(manifest);
    DROVER_TRY(const std::unique_ptr<File> file, files_.open(part + "/manifest", OpenMode::create));
    DROVER_RETURN_IF_ERROR(file->write(0, encode_manifest(manifest)));
    DROVER_RETURN_IF_ERROR(file->sync());
    return keep(manifest.info, part, false);
  };
  if (const Status status = write(); !status.ok()) {
    (void)discard(part);
    return status.with_context("snapshot at " + std::to_string(index));
  }
  return manifest.info;
}

Result<std::unique_ptr<ByteSource>> SnapshotStore::read(const SnapshotInfo& snapshot) const {
  return read_snapshot_data(files_, place(snapshot));
}

Result<SnapshotInfo> SnapshotStore::verify(const SnapshotInfo& snapshot) const {
  return verify_in(files_, place(snapshot), snapshot);
}

Result<SnapshotInfo> SnapshotStore::describe(const SnapshotInfo& snapshot) const {
  DROVER_TRY(const Manifest manifest, read_manifest(files_, place(snapshot)));
  return manifest.info;
}

Status SnapshotStore::set_aside(const SnapshotInfo& snapshot) {
  const std::string from = place(snapshot);
  DROVER_TRY(const std::string folder, make_quarantine(files_, directory_));
  DROVER_RETURN_IF_ERROR(files_.rename(from, folder + from.substr(directory_.size())));
  DROVER_RETURN_IF_ERROR(files_.sync_directory(folder));
  DROVER_RETURN_IF_ERROR(files_.sync_directory(directory_));
  log::error("raft", "a damaged snapshot was set aside", {{"index", snapshot.index}, {"quarantine", folder}});
  const MutexLock lock(mutex_);
  std::erase_if(kept_, [&](const Kept& kept) { return kept.info.index == snapshot.index; });
  return ok_status();
}

// ---- between servers ----

Result<std::unique_ptr<SnapshotReader>> SnapshotStore::open_to_send(const SnapshotInfo& snapshot) const {
  const std::string directory = place(snapshot);
  DROVER_TRY(std::string manifest, read_whole_file(files_, directory + "/manifest"));
  DROVER_TRY(Manifest decoded, decode_manifest(manifest, directory + "/manifest"));
  DROVER_TRY(std::unique_ptr<File> data, files_.open(directory + "/data", OpenMode::read));
  DROVER_TRY(const uint64_t size, data->size());
  return std::make_unique<SnapshotReader>(std::move(decoded.info), std::move(manifest), std::move(data), size);
}

Result<std::string> SnapshotReader::read(uint64_t offset, uint64_t most) const {
  if (offset < manifest_.size()) return manifest_.substr(offset, most);
  std::string bytes(std::min(most, total_bytes() - offset), '\0');
  DROVER_TRY(const size_t got, data_->read(offset - manifest_.size(), bytes));
  if (got != bytes.size())
    return data_loss("snapshot " + std::to_string(info_.index) + ": the data file was cut short");
  return bytes;
}

Result<std::unique_ptr<SnapshotReceiver>> SnapshotStore::receive(Index index, Term term, uint64_t manifest_bytes,
                                                                 uint64_t total_bytes) {
  if (index == 0 || manifest_bytes < kManifestFixed || manifest_bytes > kChunkBytes || total_bytes <= manifest_bytes) {
    return invalid_argument("not the beginning of a snapshot");
  }
  const SnapshotInfo info{.index = index, .term = term};
  std::unique_ptr<SnapshotReceiver> receiver(new SnapshotReceiver(*this, info, manifest_bytes, total_bytes));
  const std::string part = path(info, "part-recv-");
  DROVER_RETURN_IF_ERROR(files_.make_directory(part));
  DROVER_TRY(receiver->data_, files_.open(part + "/data", OpenMode::create));
  return receiver;
}

SnapshotReceiver::~SnapshotReceiver() {
  data_.reset();
  if (!is_kept_) (void)store_.discard(store_.path(info_, "part-recv-"));
}

Status SnapshotReceiver::write(std::string_view bytes) {
  if (bytes.size() > total_bytes_ - offset_) return invalid_argument("more bytes than the snapshot has");
  const uint64_t of_manifest = std::min<uint64_t>(bytes.size(), manifest_bytes_ - std::min(offset_, manifest_bytes_));
  manifest_.append(bytes.substr(0, of_manifest));
  if (of_manifest < bytes.size()) {
    const uint64_t at = offset_ + of_manifest - manifest_bytes_;
    DROVER_RETURN_IF_ERROR(data_->write(at, bytes.substr(of_manifest)));
  }
  offset_ += bytes.size();
  return ok_status();
}

Result<SnapshotInfo> SnapshotReceiver::finish() {
  const std::string part = store_.path(info_, "part-recv-");
  DROVER_RETURN_IF_ERROR(data_->sync());
  data_.reset();
  {
    DROVER_TRY(const std::unique_ptr<File> file, store_.files_.open(part + "/manifest", OpenMode::create));
    DROVER_RETURN_IF_ERROR(file->write(0, manifest_));
    DROVER_RETURN_IF_ERROR(file->sync());
  }
  DROVER_TRY(SnapshotInfo whole, verify_in(store_.files_, part, info_));
  DROVER_RETURN_IF_ERROR(store_.keep(whole, part, true));
  is_kept_ = true;
  return whole;
}

}  // namespace drover::raft
