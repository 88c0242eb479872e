// An operator's copy of a cluster's state: a gzip-compressed tar file with three members, in this order.
//
//   meta.json     what it is (ArchiveMeta)
//   state.bin     the state (drover/state_snapshot.h)
//   SHA256SUMS    of the two before it, as sha256sum(1) writes them
//
// docs/formats/snapshot-archive.md is the layout. Reading is strict: three plain files, each once, nothing before,
// between or behind them, every sum right. Bounded memory. One thread per archive.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "drover/byte_stream.h"
#include "drover/result.h"

namespace drover {

struct ArchiveServer {
  std::string id;       // a UUID as text
  std::string address;  // RPC, "host:port"
  bool is_voter = true;
};

struct ArchiveMeta {
  std::string id;          // "<term>-<index>-<milliseconds since 1970>"
  uint64_t index = 0;      // the log index that the state reflects
  uint64_t term = 0;       // of that entry
  uint32_t version = 1;    // of the archive's form
  uint64_t size = 0;       // bytes of state.bin
  std::string created_by;  // drover's version
  std::vector<ArchiveServer> servers;
};

// `state` gives exactly meta.size bytes. Errors: data_loss when it gives others; its own, and the sink's.
Status write_archive(const ArchiveMeta& meta, ByteSource& state, ByteSink& out);

// Hands state.bin to `state` while it is read: of use only when the whole was read without an error. Errors: data_loss
// with what is wrong; failed_precondition for a later version; out_of_range for more than `most_state_bytes`; the
// source's and the sink's own.
Result<ArchiveMeta> read_archive(ByteSource& in, ByteSink& state, uint64_t most_state_bytes);

}  // namespace drover
