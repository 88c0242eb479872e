// The replicated state as a stream of bytes: Raft sends it to a server that lags, an operator saves it.
//
// Rows only, table by table, in key order; the loader rebuilds the indexes. The same state gives the same
// bytes. Every byte is under a checksum: damage is found, and named by its offset. docs/formats/state-snapshot.md is
// the layout. One thread per stream; bounded memory: a mebibyte, or the largest row.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "drover/byte_stream.h"
#include "drover/result.h"

namespace drover {

struct SnapshotTable {
  std::string name;
  std::string message;  // full protobuf name of the row
  uint64_t rows = 0;
  uint64_t last_index = 0;  // the last log index that changed the table
  uint64_t bytes = 0;       // of its rows; known once they are read
};

struct SnapshotContent {
  uint64_t index = 0;  // the log index that the state reflects
  std::vector<SnapshotTable> tables;
};

// Receives the content while it is read. An error ends the reading.
class SnapshotVisitor {
 public:
  virtual ~SnapshotVisitor() = default;
  virtual Status table(const SnapshotTable& table) = 0;
  virtual Status row(std::string_view bytes) = 0;  // of the table before; valid during the call
};

// Reads and verifies a whole snapshot. Errors: data_loss with what is wrong and the byte offset; failed_precondition
// for a format that this build does not know; the source's and the visitor's own.
Result<SnapshotContent> read_state_snapshot(ByteSource& source, SnapshotVisitor& visitor);

// Verifies a snapshot and says what is in it; needs no store and no plugin.
Result<SnapshotContent> inspect_state_snapshot(ByteSource& source);

// Writes one: begin, then each table in the order of the names, with its rows in key order, then finish.
// Errors: invalid_argument for a name that is too long; the sink's own.
class StateSnapshotWriter {
 public:
  explicit StateSnapshotWriter(ByteSink& sink) : sink_(sink) {}
  Status begin(uint64_t index, uint32_t tables);
  Status table(const SnapshotTable& table);  // announces table.rows rows
  Status row(std::string_view bytes);
  Status finish();

 private:
  Status record(std::string& bytes);
  Status raw(std::string_view bytes);
  Status flush();

  ByteSink& sink_;
  uint32_t stream_sum_ = 0;
  uint64_t rows_ = 0;
  std::string chunk_;
};

}  // namespace drover
