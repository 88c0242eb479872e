#include "storage/segment_format.h"

#include <cstring>

#include "drover/crc32c.h"

namespace drover::raft {
namespace {

constexpr std::string_view kSegmentMagic = "DROVRLOG";
constexpr uint32_t kBatchMagic = 0x42565244;  // "DRVB"
constexpr uint32_t kRecycled = 1;
constexpr uint32_t kBeginsCluster = 2;

void put_id(char* at, const Uuid& id) { std::memcpy(at, id.bytes().data(), 16); }
Uuid get_id(const char* at) { return Uuid::from_bytes({at, 16}); }

}  // namespace

void encode_segment_header(const SegmentHeader& h, char* block) {
  std::memset(block, 0, kBlock);
  std::memcpy(block, kSegmentMagic.data(), 8);
  put<uint32_t>(block + 8, kLogFormat);
  put_id(block + 16, h.cluster_id);
  put_id(block + 32, h.node_id);
  put<uint64_t>(block + 48, h.seq);
  put<uint64_t>(block + 56, h.capacity);
  put<uint64_t>(block + 64, h.salt);
  put<uint64_t>(block + 72, h.next_batch_seq);
  put<uint32_t>(block + 80, h.chain);
  put<uint32_t>(block + 84, (h.is_recycled ? kRecycled : 0) | (h.begins_cluster ? kBeginsCluster : 0));
  put<uint64_t>(block + 88, h.first_index);
  put<uint64_t>(block + 96, h.prev_term);
  put<uint64_t>(block + 104, h.last_index);
  put<uint64_t>(block + 112, h.last_term);
  put<uint64_t>(block + 120, h.hard_state.term);
  put_id(block + 128, h.hard_state.vote);
  put<uint64_t>(block + 144, h.write_seq);
  std::string members = encode_membership(h.membership);
  if (members.size() > kMaxHeaderMembership) members = encode_membership({});
  put<uint32_t>(block + 152, static_cast<uint32_t>(members.size()));
  std::memcpy(block + 160, members.data(), members.size());
  put<uint32_t>(block + 12, crc32c({block + 16, kBlock - 16}));
}

Result<SegmentHeader> decode_segment_header(std::string_view block, const std::string& path) {
  if (block.size() < kBlock) return data_loss(path + ": the file is shorter than a segment header");
  const char* p = block.data();
  if (block.substr(0, 8) != kSegmentMagic) return data_loss(path + ": offset 0: not a log segment");
  const uint32_t format = get<uint32_t>(p + 8);
  // The checksum does not cover the number: it is right under another one only when that one is damaged.
  const bool is_whole = get<uint32_t>(p + 12) == crc32c({p + 16, kBlock - 16});
  if (format > kLogFormat && !is_whole) {
    return failed_precondition(path + ": log format " + std::to_string(format) + " is newer than this program's (" +
                               std::to_string(kLogFormat) + "): start a newer drover on this directory");
  }
  if (format != kLogFormat || !is_whole) {
    return data_loss(path + ": offset 0: the segment header is damaged");
  }
  SegmentHeader h;
  h.cluster_id = get_id(p + 16);
  h.node_id = get_id(p + 32);
  h.seq = get<uint64_t>(p + 48);
  h.capacity = get<uint64_t>(p + 56);
  h.salt = get<uint64_t>(p + 64);
  h.next_batch_seq = get<uint64_t>(p + 72);
  h.chain = get<uint32_t>(p + 80);
  h.is_recycled = (get<uint32_t>(p + 84) & kRecycled) != 0;
  h.begins_cluster = (get<uint32_t>(p + 84) & kBeginsCluster) != 0;
  h.first_index = get<uint64_t>(p + 88);
  h.prev_term = get<uint64_t>(p + 96);
  h.last_index = get<uint64_t>(p + 104);
  h.last_term = get<uint64_t>(p + 112);
  h.hard_state.term = get<uint64_t>(p + 120);
  h.hard_state.vote = get_id(p + 128);
  h.write_seq = get<uint64_t>(p + 144);
  const uint32_t length = get<uint32_t>(p + 152);
  if (length > kMaxHeaderMembership) return data_loss(path + ": offset 152: the membership's length is out of range");
  DROVER_TRY(h.membership, decode_membership(block.substr(160, length)).with_context(path + ": offset 160"));
  return h;
}

uint32_t batch_seed(uint64_t seq, uint64_t salt) {
  char bytes[16];
  put<uint64_t>(bytes, seq);
  put<uint64_t>(bytes + 8, salt);
  return crc32c({bytes, sizeof bytes});
}

void encode_batch_header(BatchHeader& h, uint32_t seed, char* out) {
  std::memset(out, 0, kBatchHeaderBytes);
  put<uint32_t>(out, kBatchMagic);
  put<uint64_t>(out + 8, h.batch_seq);
  put<uint64_t>(out + 16, h.write_seq);
  put<uint32_t>(out + 24, h.body_bytes);
  put<uint32_t>(out + 28, h.entry_count);
  put<uint64_t>(out + 32, h.truncate_from);
  put<uint64_t>(out + 40, h.hard_state.term);
  put_id(out + 48, h.hard_state.vote);
  put<uint64_t>(out + 64, h.durable_seq);
  put<uint32_t>(out + 72, h.prev_crc);
  put<uint32_t>(out + 76, h.body_crc);
  put<uint64_t>(out + 80, h.first_index);
  put<uint64_t>(out + 88, h.prev_term);
  put<uint32_t>(out + 96, h.flags);
  h.crc = crc32c({out + 8, kBatchHeaderBytes - 8}, seed);
  put<uint32_t>(out + 4, h.crc);
}

std::optional<BatchHeader> decode_batch_header(std::string_view bytes, uint32_t seed) {
  if (bytes.size() < kBatchHeaderBytes) return std::nullopt;
  const char* p = bytes.data();
  if (get<uint32_t>(p) != kBatchMagic) return std::nullopt;
  BatchHeader h;
  h.crc = get<uint32_t>(p + 4);
  if (h.crc != crc32c({p + 8, kBatchHeaderBytes - 8}, seed)) return std::nullopt;
  h.batch_seq = get<uint64_t>(p + 8);
  h.write_seq = get<uint64_t>(p + 16);
  h.body_bytes = get<uint32_t>(p + 24);
  h.entry_count = get<uint32_t>(p + 28);
  h.truncate_from = get<uint64_t>(p + 32);
  h.hard_state.term = get<uint64_t>(p + 40);
  h.hard_state.vote = get_id(p + 48);
  h.durable_seq = get<uint64_t>(p + 64);
  h.prev_crc = get<uint32_t>(p + 72);
  h.body_crc = get<uint32_t>(p + 76);
  h.first_index = get<uint64_t>(p + 80);
  h.prev_term = get<uint64_t>(p + 88);
  h.flags = get<uint32_t>(p + 96);
  return h;
}

uint32_t encode_entry(const Entry& entry, char* out) {
  const std::string_view payload = entry.bytes();
  put<uint32_t>(out + 4, static_cast<uint32_t>(payload.size()));
  put<uint64_t>(out + 8, entry.index);
  put<uint64_t>(out + 16, entry.term);
  put<uint16_t>(out + 24, static_cast<uint16_t>(entry.type));
  put<uint16_t>(out + 26, 0);
  if (!payload.empty()) std::memcpy(out + kEntryHeaderBytes, payload.data(), payload.size());
  const uint32_t crc = crc32c({out + 4, kEntryHeaderBytes - 4 + payload.size()});
  put<uint32_t>(out, crc);
  return crc;
}

std::optional<Entry> decode_entry(std::string_view& rest, uint32_t& crc) {
  if (rest.size() < kEntryHeaderBytes) return std::nullopt;
  const char* p = rest.data();
  const size_t length = get<uint32_t>(p + 4);
  if (length > rest.size() - kEntryHeaderBytes) return std::nullopt;
  crc = get<uint32_t>(p);
  if (crc != crc32c(rest.substr(4, kEntryHeaderBytes - 4 + length))) return std::nullopt;
  Entry entry;
  entry.index = get<uint64_t>(p + 8);
  entry.term = get<uint64_t>(p + 16);
  entry.type = static_cast<EntryType>(get<uint16_t>(p + 24));
  if (length > 0) entry.payload = std::make_shared<const std::string>(rest.substr(kEntryHeaderBytes, length));
  rest.remove_prefix(kEntryHeaderBytes + length);
  return entry;
}

std::optional<std::vector<Entry>> decode_body(const BatchHeader& header, std::string_view body) {
  if (header.body_bytes / kEntryHeaderBytes < header.entry_count) return std::nullopt;
  std::vector<Entry> entries;
  entries.reserve(header.entry_count);
  uint32_t body_crc = 0;
  while (entries.size() < header.entry_count) {
    uint32_t crc = 0;
    std::optional<Entry> entry = decode_entry(body, crc);
    if (!entry) return std::nullopt;
    char bytes[4];
    put<uint32_t>(bytes, crc);
    body_crc = crc32c({bytes, 4}, body_crc);
    entries.push_back(*std::move(entry));
  }
  if (!body.empty() || body_crc != header.body_crc) return std::nullopt;
  return entries;
}

}  // namespace drover::raft
