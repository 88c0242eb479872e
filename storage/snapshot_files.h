// A snapshot on a server's disk: a folder with `manifest` (what it is, and the checksum of the whole) and `data`
// (chunks of at most a mebibyte, each with its checksum). snapshot_files.cc is the layout. No state; [any].
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "drover/byte_stream.h"
#include "drover/result.h"
#include "storage/file_system.h"
#include "storage/types.h"

namespace drover::raft {

inline constexpr size_t kSnapshotChunkBytes = 1 << 20;
inline constexpr size_t kManifestFixed = 56;  // up to the membership
inline constexpr size_t kDataHeader = 16;     // magic, format, zero
inline constexpr size_t kChunkHeader = 8;     // length, crc

struct SnapshotInfo {
  Index index = 0;
  Term term = 0;
  uint64_t bytes = 0;
  Membership membership;
};

struct Manifest {
  SnapshotInfo info;
  uint64_t chunks = 0;
  uint32_t data_crc = 0;
};

// "snap-<index>-<term>", or "recv-<index>-<term>" for one that came from a leader; nothing for another name.
std::optional<SnapshotInfo> parse_snapshot_name(std::string_view name);

std::string encode_manifest(const Manifest& manifest);
// `path` names the place in errors. Errors: data_loss; failed_precondition for a newer format.
Result<Manifest> decode_manifest(std::string_view bytes, const std::string& path);
void encode_data_header(char* out);  // kDataHeader bytes

// The files in a snapshot's folder. Errors as decode_manifest; the disk's.
Result<std::string> read_whole_file(FileSystem& files, const std::string& path);
Result<Manifest> read_manifest(FileSystem& files, const std::string& directory);
// Its bytes, checked while they are read.
Result<std::unique_ptr<ByteSource>> read_snapshot_data(FileSystem& files, const std::string& directory);

}  // namespace drover::raft
