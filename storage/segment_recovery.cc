#include "storage/segment_recovery.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cstring>
#include <utility>

#include "storage/segment_repair.h"

namespace drover::raft {
namespace {

std::string at(const std::string& path, uint64_t offset) { return path + ": offset " + std::to_string(offset) + ": "; }

std::optional<uint64_t> parse_segment_name(std::string_view name) {
  if (!name.starts_with("seg-") || !name.ends_with(".log")) return std::nullopt;
  name.remove_prefix(4);
  name.remove_suffix(4);
  uint64_t seq = 0;
  const auto [end, error] = std::from_chars(name.data(), name.data() + name.size(), seq);
  if (error != std::errc() || end != name.data() + name.size()) return std::nullopt;
  return seq;
}

// Behind the last byte that is not zero; 0 when there is none. Unwritten tails are long: blockwise.
size_t written_size(std::string_view bytes) {
  static constexpr std::array<char, kBlock> kZeros{};
  while (bytes.size() >= kBlock && std::memcmp(bytes.data() + bytes.size() - kBlock, kZeros.data(), kBlock) == 0) {
    bytes.remove_suffix(kBlock);
  }
  return bytes.find_last_not_of('\0') + 1;
}

struct Named {
  uint64_t seq = 0;
  std::string path;
};

// A whole segment. Errors: data_loss when it is not one, or not this one; failed_precondition for a newer format.
Result<SegmentHeader> load(FileSystem& files, const Named& named, std::string& bytes) {
  const auto& [seq, path] = named;
  DROVER_TRY(std::unique_ptr<File> file, files.open(path, OpenMode::read));
  DROVER_TRY(const uint64_t size, file->size());
  bytes.resize(size);
  DROVER_TRY(const size_t got, file->read(0, bytes));
  bytes.resize(got);
  DROVER_TRY(SegmentHeader header, decode_segment_header(bytes, path));
  if (header.seq != seq) return data_loss(at(path, 48) + "the header says segment " + std::to_string(header.seq));
  if (header.capacity != bytes.size()) {
    return data_loss(at(path, bytes.size()) + "the file ends here, its header says " + std::to_string(header.capacity));
  }
  return header;
}

class Scan {
 public:
  explicit Scan(Recovery& out) : out_(out) {}

  // The next of the log's segments.
  Status segment(FileSystem& files, const Named& named);
  // Keeps the good part of a log that segment() has found damaged. `segments` are all that exist.
  Status keep_prefix(FileSystem& files, const std::vector<Named>& segments);
  // Something was lost earlier; this was known then.
  void resume_damaged(const SegmentHeader& mark);
  Status finish(const std::string& directory);

 private:
  Status check_owner(const SegmentHeader& header, const std::string& path);
  Status batches(const SegmentHeader& header, std::string_view bytes, const std::string& path);
  void look_behind(const SegmentHeader& header, std::string_view bytes, uint64_t offset);
  Status damaged(uint64_t seq, uint64_t end, std::string what) {
    out_.damage = LogDamage{.what = what, .segment = seq, .end = end};
    return data_loss(std::move(what));
  }
  Status begin(const SegmentHeader& header, const std::string& path);
  Status apply(const BatchHeader& batch, std::vector<Entry> entries, const BatchPlace& place, const std::string& path);
  Status judge_end(const SegmentHeader& header, std::string_view bytes, uint64_t end, const std::string& path);
  void drop_memberships(Index from) {
    std::erase_if(memberships_, [&](const Membership& m) { return m.index >= from; });
  }

  Recovery& out_;
  bool has_begun_ = false;
  Index recorded_first_ = 1;  // as the newest record says
  Term recorded_prev_ = 0;
  std::vector<Membership> memberships_;
  bool was_closed_ = false;
  uint64_t former_end_ = 0;
  std::string former_path_;
  // The newest legible record and the newest legible membership, also behind the damage.
  uint64_t newest_record_ = 0;
  HardState newest_hard_state_;
  Membership newest_membership_;
};

Status Scan::begin(const SegmentHeader& h, const std::string& path) {
  LogState& state = out_.state;
  if (!has_begun_) {
    has_begun_ = true;
    out_.batch_seq = h.next_batch_seq - 1;
    out_.chain = h.chain;
    out_.index.start_over(h.last_index + 1, h.last_term);
    state.hard_state = h.hard_state;
    state.write_seq = h.write_seq;
    state.is_fresh = false;
  } else if (h.next_batch_seq != out_.batch_seq + 1 || h.chain != out_.chain) {
    // The next segment was begun on a log that went further, so the unreadable part here had been confirmed.
    return damaged(h.seq - 1, former_end_,
                   at(former_path_, former_end_) + "batch " + std::to_string(out_.batch_seq + 1) + " is damaged, and " +
                       path + " continues from batch " + std::to_string(h.next_batch_seq) +
                       ": acknowledged entries are missing");
  }
  recorded_first_ = h.first_index;
  recorded_prev_ = h.prev_term;
  if (h.begins_cluster) {
    memberships_.clear();
    state.hard_state = h.hard_state;
  }
  if (h.membership.index != 0 && (memberships_.empty() || memberships_.back().index < h.membership.index)) {
    memberships_.push_back(h.membership);
  }
  was_closed_ = false;
  return ok_status();
}

Status Scan::segment(FileSystem& files, const Named& named) {
  if (!out_.segments.empty() && named.seq != out_.segments.back().seq + 1) {
    const std::string missing = segment_name(out_.segments.back().seq + 1);
    return damaged(named.seq, 0, named.path.substr(0, named.path.rfind('/')) + ": " + missing + " is missing");
  }
  std::string bytes;
  const Result<SegmentHeader> header = load(files, named, bytes);
  if (header.status().code() == Code::data_loss) return damaged(named.seq, 0, header.status().message());
  if (!header.ok()) return header.status();
  DROVER_RETURN_IF_ERROR(check_owner(*header, named.path));
  DROVER_RETURN_IF_ERROR(begin(*header, named.path));
  return batches(*header, bytes, named.path);
}

Status Scan::check_owner(const SegmentHeader& h, const std::string& path) {
  if (out_.cluster_id.is_zero()) out_.cluster_id = h.cluster_id;
  if (out_.node_id.is_zero()) out_.node_id = h.node_id;
  out_.former_cluster_id = h.begins_cluster ? std::exchange(out_.cluster_id, h.cluster_id) : ClusterId();
  if (h.cluster_id != out_.cluster_id) {
    return failed_precondition(path + ": belongs to cluster " + h.cluster_id.to_string() + ", not to " +
                               out_.cluster_id.to_string());
  }
  if (h.node_id != out_.node_id) {
    return failed_precondition(path + ": belongs to server " + h.node_id.to_string() + ", not to " +
                               out_.node_id.to_string());
  }
  return ok_status();
}

Status Scan::batches(const SegmentHeader& h, std::string_view bytes, const std::string& path) {
  const uint32_t seed = batch_seed(h.seq, h.salt);
  uint64_t offset = kBlock;
  Index max_index = 0;
  while (offset + kBlock <= bytes.size()) {
    const std::optional<BatchHeader> batch = decode_batch_header(bytes.substr(offset), seed);
    if (!batch || batch->batch_seq != out_.batch_seq + 1 || batch->prev_crc != out_.chain) break;
    if (batch->body_bytes > bytes.size() - offset - kBatchHeaderBytes) break;
    auto entries = decode_body(*batch, bytes.substr(offset + kBatchHeaderBytes, batch->body_bytes));
    if (!entries) break;
    if (!entries->empty()) max_index = std::max(max_index, entries->back().index);
    BatchPlace place{.segment = h.seq, .offset = offset, .bytes = kBatchHeaderBytes + batch->body_bytes};
    DROVER_RETURN_IF_ERROR(apply(*batch, *std::move(entries), place, path));
    offset += round_up(place.bytes);
  }
  out_.segments.push_back(
      {.seq = h.seq, .salt = h.salt, .capacity = h.capacity, .end = offset, .max_index = max_index});
  DROVER_RETURN_IF_ERROR(judge_end(h, bytes, offset, path));
  former_end_ = offset;
  former_path_ = path;
  return ok_status();
}

Status Scan::apply(const BatchHeader& h, std::vector<Entry> entries, const BatchPlace& place, const std::string& path) {
  LogIndex& index = out_.index;
  if (h.flags & BatchHeader::kStartOver) {
    index.forget_places();
    index.start_over(h.first_index, h.prev_term);
    memberships_.clear();
  } else if (h.truncate_from != 0) {
    // Below the oldest segment held: those entries were compacted away later, as finish() checks.
    if (h.truncate_from < index.first_index()) {
      index.start_over(h.truncate_from, 0);
    } else {
      index.truncate(h.truncate_from);
    }
    drop_memberships(h.truncate_from);
  }
  Term term = index.terms().last_term();
  for (size_t i = 0; i < entries.size(); ++i) {
    if (entries[i].index != index.last_index() + 1 + i || entries[i].term < term) {
      return data_loss(at(path, place.offset) + "entry " + std::to_string(entries[i].index) + " of term " +
                       std::to_string(entries[i].term) + " does not continue the log at " +
                       std::to_string(index.last_index() + i));
    }
    term = entries[i].term;
    if (entries[i].type == EntryType::membership && epoch_of(term) == epoch_of(h.hard_state.term)) {
      DROVER_TRY(Membership membership, decode_membership(entries[i].bytes()).with_context(at(path, place.offset)));
      membership.index = entries[i].index;
      memberships_.push_back(std::move(membership));
    }
  }
  std::optional<BatchPlace> live;
  if (!entries.empty()) {
    live = place;
    live->first = entries.front().index;
    live->last = entries.back().index;
    index.append(entries);
  }
  index.place(h.truncate_from, live, index.last_index());
  out_.batch_seq = h.batch_seq;
  out_.chain = h.crc;
  out_.former_cluster_id = {};
  out_.state.hard_state = h.hard_state;
  out_.state.write_seq = h.write_seq;
  recorded_first_ = h.first_index;
  recorded_prev_ = h.prev_term;
  if (recorded_first_ > index.first_index() && recorded_first_ <= index.last_index() + 1) {
    index.compact(recorded_first_);
  }
  was_closed_ = (h.flags & BatchHeader::kClose) != 0;
  return ok_status();
}

// The batches end here. Were they meant to?
Status Scan::judge_end(const SegmentHeader& h, std::string_view bytes, uint64_t end, const std::string& path) {
  const uint32_t seed = batch_seed(h.seq, h.salt);
  const uint64_t expected = out_.batch_seq + 1;
  uint64_t torn = 0;
  for (uint64_t offset = end; offset + kBlock <= bytes.size(); offset += kBlock) {
    const std::optional<BatchHeader> batch = decode_batch_header(bytes.substr(offset), seed);
    if (batch && offset == end && batch->batch_seq == expected && batch->prev_crc == out_.chain) {
      torn = round_up(kBatchHeaderBytes + batch->body_bytes);
    } else if (batch) {
      // One batch is written at a time, so everything before a whole header had been confirmed.
      return damaged(h.seq, end,
                     at(path, end) + "batch " + std::to_string(expected) + " is damaged, and batch " +
                         std::to_string(batch->batch_seq) + " follows at offset " + std::to_string(offset) +
                         ": acknowledged entries are missing");
    }
  }
  if (torn == 0 && !h.is_recycled) {
    torn = round_up(written_size(bytes.substr(end)));
  }
  out_.state.torn_bytes = torn;  // of the last segment: earlier ones were cut before the next was begun
  return ok_status();
}

// Entries behind the damage are gone, because later records depend on earlier ones. Their word on this server's
// promises and on the other members still holds.
void Scan::look_behind(const SegmentHeader& h, std::string_view bytes, uint64_t offset) {
  const auto note = [&](uint64_t record, const HardState& hard_state) {
    if (record < newest_record_) return;
    newest_record_ = record;
    newest_hard_state_ = hard_state;
  };
  note(h.next_batch_seq - 1, h.hard_state);
  if (h.membership.index > newest_membership_.index) newest_membership_ = h.membership;
  const uint32_t seed = batch_seed(h.seq, h.salt);
  for (; offset + kBlock <= bytes.size(); offset += kBlock) {
    const std::optional<BatchHeader> batch = decode_batch_header(bytes.substr(offset), seed);
    if (!batch) continue;
    note(batch->batch_seq, batch->hard_state);
    const auto entries = decode_body(*batch, bytes.substr(offset + kBatchHeaderBytes, batch->body_bytes));
    if (!entries) continue;
    for (const Entry& entry : *entries) {
      if (entry.type != EntryType::membership || entry.index <= newest_membership_.index) continue;
      const Result<Membership> membership = decode_membership(entry.bytes());
      if (!membership.ok()) continue;
      newest_membership_ = *membership;
      newest_membership_.index = entry.index;
    }
  }
}

Status Scan::keep_prefix(FileSystem& files, const std::vector<Named>& segments) {
  LogDamage& damage = *out_.damage;
  newest_record_ = out_.batch_seq;
  newest_hard_state_ = out_.state.hard_state;
  if (!memberships_.empty()) newest_membership_ = memberships_.back();
  for (const Named& named : segments) {
    if (named.seq < damage.segment) continue;
    damage.all.push_back(named.seq);
    std::string bytes;
    const Result<SegmentHeader> header = load(files, named, bytes);
    if (header.ok()) {
      DROVER_RETURN_IF_ERROR(check_owner(*header, named.path));
      look_behind(*header, bytes, named.seq == damage.segment && damage.end != 0 ? damage.end : kBlock);
    } else if (header.status().code() != Code::data_loss) {
      return header.status();
    } else if (named.seq == segments.back().seq) {
      return data_loss(damage.what +
                       "; the newest segment is not legible, so this server's term and vote may be lost: " +
                       "it cannot be repaired from the leader");
    }
  }
  const NodeId self = out_.node_id;
  const auto is_other_voter = [&](const Member& member) {
    return member.id != self && member.suffrage == Suffrage::voter;
  };
  if (std::ranges::none_of(newest_membership_.members, is_other_voter)) {
    return data_loss(damage.what + "; the log knows no other voter that could send it again");
  }
  out_.state.is_damaged = true;
  out_.state.is_fresh = false;
  out_.state.hard_state = newest_hard_state_;
  if (memberships_.empty()) out_.state.membership = newest_membership_;
  return ok_status();
}

void Scan::resume_damaged(const SegmentHeader& mark) {
  LogState& state = out_.state;
  state.is_damaged = true;
  state.is_fresh = false;
  const bool is_newer = mark.hard_state.term > state.hard_state.term ||
                        (mark.hard_state.term == state.hard_state.term && state.hard_state.vote.is_zero());
  if (is_newer) state.hard_state = mark.hard_state;
  if (memberships_.empty() && state.membership.index == 0) state.membership = mark.membership;
}

Status Scan::finish(const std::string& directory) {
  LogIndex& index = out_.index;
  if (out_.damage && recorded_first_ < index.first_index()) {
    // The record that removed the earlier segments is behind the damage.
    recorded_first_ = index.first_index();
    recorded_prev_ = index.terms().prev_term();
  }
  if (recorded_first_ < index.first_index()) {
    return data_loss(directory + ": the log begins at entry " + std::to_string(index.first_index()) +
                     " but should at " + std::to_string(recorded_first_) + ": a segment file is missing");
  }
  if (recorded_first_ > index.last_index() + 1) {
    return data_loss(directory + ": the log ends at entry " + std::to_string(index.last_index()) +
                     " before its first, " + std::to_string(recorded_first_));
  }
  index.compact(recorded_first_);
  LogState& state = out_.state;
  state.first_index = index.first_index();
  state.prev_term = recorded_prev_;
  state.last_index = index.last_index();
  state.last_term = index.terms().last_term();
  if (!memberships_.empty()) state.membership = memberships_.back();
  const bool has_base = epoch_of(state.hard_state.term) > 0 && !memberships_.empty() && memberships_.front().index == 1;
  if (has_base) state.base_membership = memberships_.front();
  state.was_clean = was_closed_ && state.torn_bytes == 0 && !state.is_damaged;
  return ok_status();
}

}  // namespace

std::string segment_name(uint64_t seq) {
  std::string digits = std::to_string(seq);
  return "seg-" + std::string(20 - digits.size(), '0') + digits + ".log";
}

Result<Recovery> recover_log(FileSystem& files, const std::string& directory, ClusterId cluster_id, NodeId node_id,
                             uint64_t cache_bytes, OnDamage on_damage) {
  Recovery out(cache_bytes);
  DROVER_TRY(const std::vector<std::string> names, files.list(directory));
  std::vector<Named> segments;
  for (const std::string& name : names) {
    if (const auto seq = parse_segment_name(name)) segments.push_back({*seq, directory + "/" + name});
    if (name.starts_with("spare-")) out.spares.push_back(name);
    if (name.starts_with("tmp-")) out.leftovers.push_back(name);
  }
  std::ranges::sort(segments, {}, &Named::seq);
  DROVER_TRY(const std::optional<SegmentHeader> mark, read_damage_mark(files, directory));
  const bool has_mark_only = segments.empty() && mark;
  out.cluster_id = cluster_id.is_zero() && has_mark_only ? mark->cluster_id : cluster_id;
  out.node_id = node_id.is_zero() && has_mark_only ? mark->node_id : node_id;
  if (segments.empty() && !mark) return out;

  Scan scan(out);
  for (const Named& segment : segments) {
    const Status status = scan.segment(files, segment);
    if (status.ok()) continue;
    if (!out.damage || on_damage == OnDamage::refuse) return status;
    DROVER_RETURN_IF_ERROR(scan.keep_prefix(files, segments));
    break;
  }
  if (mark) scan.resume_damaged(*mark);
  DROVER_RETURN_IF_ERROR(scan.finish(directory));
  return out;
}

}  // namespace drover::raft
