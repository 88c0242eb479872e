#include "storage/snapshot_files.h"

#include <algorithm>
#include <charconv>
#include <cstring>

#include "drover/crc32c.h"
#include "storage/membership_bytes.h"

namespace drover::raft {
namespace {

constexpr std::string_view kDataMagic = "DROVSNAP";
constexpr std::string_view kManifestMagic = "DROVMANI";
constexpr uint32_t kSnapshotFormat = 1;

// As with the log's segments (segment_format.cc), a checksum that is right says that a strange number is damaged.
Status check_format(std::string_view head, std::string_view magic, bool is_whole, const std::string& path) {
  if (head.substr(0, 8) != magic) return data_loss(path + ": offset 0: not a snapshot file");
  const uint32_t format = get<uint32_t>(head.data() + 8);
  if (format > kSnapshotFormat && !is_whole) {
    return failed_precondition(path + ": snapshot format " + std::to_string(format) +
                               " is newer than this program's (" + std::to_string(kSnapshotFormat) + ")");
  }
  return format == kSnapshotFormat ? ok_status() : data_loss(path + ": offset 8: the format is damaged");
}

class ChunkReader final : public ByteSource {
 public:
  ChunkReader(std::unique_ptr<File> file, std::string path, Manifest manifest)
      : file_(std::move(file)), path_(std::move(path)), manifest_(std::move(manifest)) {}

  Status begin() {
    std::string head(kDataHeader, '\0');
    DROVER_TRY(const size_t got, file_->read(0, head));
    if (got < kDataHeader) return data_loss(path_ + ": the file is shorter than its header");
    return check_format(head, kDataMagic, true, path_);  // the manifest has the same format, and is whole
  }

  Result<size_t> read(std::span<char> buffer) override {
    if (at_ == chunk_.size()) DROVER_RETURN_IF_ERROR(next());
    const size_t n = std::min(buffer.size(), chunk_.size() - at_);
    std::memcpy(buffer.data(), chunk_.data() + at_, n);
    at_ += n;
    return n;
  }

 private:
  Status damaged(std::string_view what) const {
    return data_loss(path_ + ": offset " + std::to_string(offset_) + ": " + std::string(what));
  }

  Status next() {
    chunk_.clear();
    at_ = 0;
    std::string head(kChunkHeader, '\0');
    DROVER_TRY(const size_t got, file_->read(offset_, head));
    if (chunks_ == manifest_.chunks) {
      if (got != 0) return damaged("bytes behind the last chunk");
      if (bytes_ != manifest_.info.bytes || crc_ != manifest_.data_crc)
        return damaged("not what the manifest describes");
      return ok_status();
    }
    const size_t length = got < kChunkHeader ? 0 : get<uint32_t>(head.data());
    if (length == 0 || length > kSnapshotChunkBytes) return damaged("a chunk is missing or damaged");
    chunk_.resize(length);
    DROVER_TRY(const size_t filled, file_->read(offset_ + kChunkHeader, chunk_));
    if (filled != length || crc32c(chunk_) != get<uint32_t>(head.data() + 4)) {
      chunk_.clear();
      return damaged("a chunk is damaged");
    }
    offset_ += kChunkHeader + length;
    bytes_ += length;
    ++chunks_;
    crc_ = crc32c(chunk_, crc_);
    return ok_status();
  }

  const std::unique_ptr<File> file_;
  const std::string path_;
  const Manifest manifest_;
  std::string chunk_;
  size_t at_ = 0;
  uint64_t offset_ = kDataHeader;
  uint64_t bytes_ = 0;
  uint64_t chunks_ = 0;
  uint32_t crc_ = 0;
};

}  // namespace

// "snap-<index>-<term>", "recv-<index>-<term>"
std::optional<SnapshotInfo> parse_snapshot_name(std::string_view name) {
  if (!name.starts_with("snap-") && !name.starts_with("recv-")) return std::nullopt;
  if (name.size() != 46 || name[25] != '-') return std::nullopt;
  SnapshotInfo info;
  const auto index = std::from_chars(name.data() + 5, name.data() + 25, info.index);
  const auto term = std::from_chars(name.data() + 26, name.data() + 46, info.term);
  if (index.ec != std::errc() || index.ptr != name.data() + 25) return std::nullopt;
  if (term.ec != std::errc() || term.ptr != name.data() + 46) return std::nullopt;
  return info;
}

std::string encode_manifest(const Manifest& m) {
  const std::string members = encode_membership(m.info.membership);
  std::string out(kManifestFixed, '\0');
  std::memcpy(out.data(), kManifestMagic.data(), 8);
  put<uint32_t>(out.data() + 8, kSnapshotFormat);
  put<uint64_t>(out.data() + 16, m.info.index);
  put<uint64_t>(out.data() + 24, m.info.term);
  put<uint64_t>(out.data() + 32, m.info.bytes);
  put<uint64_t>(out.data() + 40, m.chunks);
  put<uint32_t>(out.data() + 48, m.data_crc);
  put<uint32_t>(out.data() + 52, static_cast<uint32_t>(members.size()));
  out += members;
  put<uint32_t>(out.data() + 12, crc32c(std::string_view(out).substr(16)));
  return out;
}

Result<Manifest> decode_manifest(std::string_view bytes, const std::string& path) {
  if (bytes.size() < kManifestFixed) return data_loss(path + ": the file is shorter than a manifest");
  const char* p = bytes.data();
  const bool is_whole = get<uint32_t>(p + 12) == crc32c(bytes.substr(16));
  DROVER_RETURN_IF_ERROR(check_format(bytes, kManifestMagic, is_whole, path));
  if (!is_whole) return data_loss(path + ": offset 12: the manifest is damaged");
  Manifest m;
  m.info.index = get<uint64_t>(p + 16);
  m.info.term = get<uint64_t>(p + 24);
  m.info.bytes = get<uint64_t>(p + 32);
  m.chunks = get<uint64_t>(p + 40);
  m.data_crc = get<uint32_t>(p + 48);
  DROVER_TRY(m.info.membership, decode_membership(bytes.substr(kManifestFixed)).with_context(path + ": offset 56"));
  return m;
}

void encode_data_header(char* out) {
  std::memset(out, 0, kDataHeader);
  std::memcpy(out, kDataMagic.data(), kDataMagic.size());
  put<uint32_t>(out + 8, kSnapshotFormat);
}

Result<std::string> read_whole_file(FileSystem& files, const std::string& path) {
  DROVER_TRY(const std::unique_ptr<File> file, files.open(path, OpenMode::read));
  DROVER_TRY(const uint64_t size, file->size());
  std::string bytes(size, '\0');
  DROVER_TRY(const size_t got, file->read(0, bytes));
  bytes.resize(got);
  return bytes;
}

Result<Manifest> read_manifest(FileSystem& files, const std::string& directory) {
  DROVER_TRY(const std::string bytes, read_whole_file(files, directory + "/manifest"));
  return decode_manifest(bytes, directory + "/manifest");
}

Result<std::unique_ptr<ByteSource>> read_snapshot_data(FileSystem& files, const std::string& directory) {
  DROVER_TRY(Manifest manifest, read_manifest(files, directory));
  DROVER_TRY(std::unique_ptr<File> data, files.open(directory + "/data", OpenMode::read));
  auto reader = std::make_unique<ChunkReader>(std::move(data), directory + "/data", std::move(manifest));
  DROVER_RETURN_IF_ERROR(reader->begin());
  return std::unique_ptr<ByteSource>(std::move(reader));
}

}  // namespace drover::raft
