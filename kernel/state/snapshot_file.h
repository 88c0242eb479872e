// A snapshot of the state as a stream of bytes: what Raft sends to a server that lags, what an operator archives.
//
// Rows only, in key order; indexes are rebuilt. The same state gives the same bytes. The layout is in
// docs/formats/state-snapshot.md. Every byte is under a checksum: damage is found, and named by its offset.
// [any], one thread per stream; Store::restore [apply]
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "drover/result.h"

namespace drover::state {

class Snapshot;

class Sink {
 public:
  virtual ~Sink() = default;
  virtual Status write(std::string_view bytes) = 0;
};

class Source {
 public:
  virtual ~Source() = default;
  // Reads up to `size` bytes into `to`; how many, 0 at the end.
  virtual Result<size_t> read(char* to, size_t size) = 0;
};

Status write_snapshot(const Snapshot& snapshot, Sink& sink);

struct ArchivedTable {
  std::string name;
  std::string message;  // full protobuf name of the row
  uint64_t rows = 0;
  uint64_t last_index = 0;  // the last log index that changed the table
  uint64_t bytes = 0;       // of its rows
};

struct Archive {
  uint64_t index = 0;
  std::vector<ArchivedTable> tables;
};

// Receives the content of a snapshot while it is read. An error ends the reading.
class SnapshotVisitor {
 public:
  virtual ~SnapshotVisitor() = default;
  virtual Status table(const ArchivedTable& table) = 0;
  virtual Status row(std::string_view bytes) = 0;
};

// Reads and verifies a whole snapshot. Errors: data_loss with what is wrong and the byte offset; the source's and the
// visitor's errors.
Result<Archive> read_snapshot(Source& source, SnapshotVisitor& visitor);

// Verifies a snapshot and says what is in it; needs no store and no plugin.
Result<Archive> inspect(Source& source);

}  // namespace drover::state
