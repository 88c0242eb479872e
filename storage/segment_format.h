// The bytes of a log segment: header block, batches, entries (docs/formats/raft-log.md is the drawing). Pure.
//
// Every batch header's checksum is seeded with the sequence number and the random salt of its segment, so neither what
// a recycled file held before nor a payload that imitates a header can pass for one.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "drover/result.h"
#include "storage/file_system.h"
#include "storage/membership_bytes.h"
#include "storage/types.h"

namespace drover::raft {

inline constexpr uint32_t kLogFormat = 1;
inline constexpr size_t kBatchHeaderBytes = 128;
inline constexpr size_t kEntryHeaderBytes = 28;
inline constexpr size_t kMaxHeaderMembership = kBlock - 192;  // larger ones live in entries and snapshots only

inline uint64_t round_up(uint64_t bytes) { return (bytes + kBlock - 1) / kBlock * kBlock; }
inline uint64_t entry_bytes(const Entry& entry) { return kEntryHeaderBytes + entry.bytes().size(); }

// The state of the log where the segment begins, so that everything before it can go.
struct SegmentHeader {
  ClusterId cluster_id;
  NodeId node_id;
  uint64_t seq = 0;
  uint64_t capacity = 0;  // of the file
  uint64_t salt = 0;
  uint64_t next_batch_seq = 0;
  uint32_t chain = 0;        // prev_crc of the first batch
  bool is_recycled = false;  // old bytes follow the last batch instead of zeros
  // This cluster id, this membership and this term stand in place of what the segments before say (peers_file.h).
  bool begins_cluster = false;
  Index first_index = 1;  // of the log
  Term prev_term = 0;     // at first_index - 1
  Index last_index = 0;   // the entries here continue it
  Term last_term = 0;
  HardState hard_state{};
  uint64_t write_seq = 0;
  Membership membership{};
};

struct BatchHeader {
  static constexpr uint32_t kConfirm = 1;    // empty; states what is durable
  static constexpr uint32_t kClose = 2;      // the orderly end of an incarnation
  static constexpr uint32_t kStartOver = 4;  // everything before is void

  uint64_t batch_seq = 0;
  uint64_t write_seq = 0;
  uint32_t body_bytes = 0;
  uint32_t entry_count = 0;
  Index truncate_from = 0;
  HardState hard_state{};
  uint64_t durable_seq = 0;  // the newest batch known durable when this one was built
  uint32_t prev_crc = 0;     // of the batch before
  uint32_t body_crc = 0;     // over the checksums of the entries
  Index first_index = 0;
  Term prev_term = 0;
  uint32_t flags = 0;
  uint32_t crc = 0;  // set by encode and decode
};

void encode_segment_header(const SegmentHeader& header, char* block);
// `path` names the place in errors. Errors: failed_precondition for a newer format; data_loss.
Result<SegmentHeader> decode_segment_header(std::string_view block, const std::string& path);

uint32_t batch_seed(uint64_t seq, uint64_t salt);
void encode_batch_header(BatchHeader& header, uint32_t seed, char* out);
std::optional<BatchHeader> decode_batch_header(std::string_view bytes, uint32_t seed);

// Returns the checksum of the entry.
uint32_t encode_entry(const Entry& entry, char* out);
// The entry at the front of `rest`, which moves behind it, and `crc` its checksum; nothing when damaged.
std::optional<Entry> decode_entry(std::string_view& rest, uint32_t& crc);
// All entries of a batch whose header was good; nothing when one of them is damaged.
std::optional<std::vector<Entry>> decode_body(const BatchHeader& header, std::string_view body);

}  // namespace drover::raft
