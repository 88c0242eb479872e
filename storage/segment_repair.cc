#include "storage/segment_repair.h"

#include <algorithm>
#include <memory>
#include <utility>

#include "drover/log.h"
#include "storage/peers_file.h"
#include "storage/snapshot_files.h"

namespace drover::raft {
namespace {

Status write_all(FileSystem& files, const std::string& path, std::string_view bytes) {
  DROVER_TRY(const std::unique_ptr<File> file, files.open(path, OpenMode::create));
  DROVER_RETURN_IF_ERROR(file->write(0, bytes));
  return file->sync();
}

bool contains(const std::vector<std::string>& names, const std::string& name) {
  return std::ranges::find(names, name) != names.end();
}

// The segment keeps the batches before the damage, and has zeros behind them.
Status cut(FileSystem& files, const std::string& path, const std::string& temporary, const std::string& copy,
           uint64_t end) {
  DROVER_TRY(std::string bytes, read_whole_file(files, path));
  DROVER_RETURN_IF_ERROR(write_all(files, copy, bytes));
  std::ranges::fill(bytes.begin() + static_cast<ptrdiff_t>(end), bytes.end(), '\0');
  DROVER_RETURN_IF_ERROR(write_all(files, temporary, bytes));
  return files.rename(temporary, path);
}

}  // namespace

Result<std::optional<SegmentHeader>> read_damage_mark(FileSystem& files, const std::string& directory) {
  DROVER_TRY(const std::vector<std::string> names, files.list(directory));
  if (!contains(names, kDamageMark)) return std::optional<SegmentHeader>();
  const std::string path = directory + "/" + kDamageMark;
  DROVER_TRY(const std::string bytes, read_whole_file(files, path));
  DROVER_TRY(SegmentHeader mark, decode_segment_header(bytes, path));
  return std::optional<SegmentHeader>(std::move(mark));
}

Status write_damage_mark(FileSystem& files, const std::string& directory, const Recovery& recovery) {
  const LogState& state = recovery.state;
  AlignedBuffer block;
  encode_segment_header({.cluster_id = recovery.cluster_id,
                         .node_id = recovery.node_id,
                         .next_batch_seq = recovery.batch_seq + 1,
                         .first_index = state.first_index,
                         .prev_term = state.prev_term,
                         .last_index = state.last_index,
                         .last_term = state.last_term,
                         .hard_state = state.hard_state,
                         .write_seq = state.write_seq,
                         .membership = state.membership},
                        block.reset(kBlock));
  const std::string temporary = directory + "/tmp-" + kDamageMark;
  DROVER_RETURN_IF_ERROR(write_all(files, temporary, block.view()));
  DROVER_RETURN_IF_ERROR(files.rename(temporary, directory + "/" + kDamageMark));
  return files.sync_directory(directory);
}

Status remove_damage_mark(FileSystem& files, const std::string& directory) {
  DROVER_RETURN_IF_ERROR(files.remove(directory + "/" + kDamageMark));
  return files.sync_directory(directory);
}

Result<std::string> make_quarantine(FileSystem& files, const std::string& directory) {
  const std::string quarantine = directory + "/quarantine";
  DROVER_RETURN_IF_ERROR(files.make_directory(quarantine));
  DROVER_RETURN_IF_ERROR(files.sync_directory(directory));
  DROVER_TRY(const std::vector<std::string> kept, files.list(quarantine));
  for (size_t n = 1; n <= kMostQuarantined; ++n) {
    const std::string number = std::to_string(n);
    const std::string folder = quarantine + "/" + number;
    if (contains(kept, number)) {
      // A crash may have left one with nothing in it.
      DROVER_TRY(const std::vector<std::string> inside, files.list(folder));
      if (!inside.empty()) continue;
    }
    DROVER_RETURN_IF_ERROR(files.make_directory(folder));
    DROVER_RETURN_IF_ERROR(files.sync_directory(quarantine));
    return folder;
  }
  return failed_precondition(quarantine + " holds " + std::to_string(kMostQuarantined) +
                             " damaged parts already: check this server's disk and memory, then move them elsewhere");
}

Result<std::string> set_aside_damage(FileSystem& files, const std::string& directory, const Recovery& recovery) {
  DROVER_RETURN_IF_ERROR(write_damage_mark(files, directory, recovery));
  const LogDamage& damage = *recovery.damage;
  DROVER_TRY(const std::string folder, make_quarantine(files, directory));
  for (uint64_t seq : damage.all) {
    const std::string name = "/" + segment_name(seq);
    if (seq == damage.segment && damage.end != 0) {
      DROVER_RETURN_IF_ERROR(cut(files, directory + name, directory + "/tmp-cut", folder + name, damage.end));
    } else {
      DROVER_RETURN_IF_ERROR(files.rename(directory + name, folder + name));
    }
  }
  DROVER_RETURN_IF_ERROR(files.sync_directory(folder));
  DROVER_RETURN_IF_ERROR(files.sync_directory(directory));
  return folder;
}

Result<Recovery> recover_directory(FileSystem& files, const std::string& directory, ClusterId cluster_id,
                                   NodeId node_id, uint64_t cache_bytes) {
  DROVER_TRY(Recovery recovery, recover_log(files, directory, cluster_id, node_id, cache_bytes, OnDamage::keep_prefix));
  // Nothing in the directory is touched before it is known what it is.
  for (const std::string& name : recovery.leftovers) DROVER_RETURN_IF_ERROR(files.remove(directory + "/" + name));
  const LogState& state = recovery.state;
  if (recovery.damage) {
    DROVER_TRY(const std::string folder, set_aside_damage(files, directory, recovery));
    log::error("raft", "the log is damaged: what stands before is kept, the leader is asked for the rest",
               {{"error", recovery.damage->what}, {"last_index", state.last_index}, {"quarantine", folder}});
  } else if (state.is_damaged) {
    log::warn("raft", "the log was damaged and is not whole yet", {{"last_index", state.last_index}});
  }
  DROVER_TRY(const bool is_replaced, apply_peers_file(files, directory, recovery));
  if (is_replaced) return recover_log(files, directory, {}, node_id, cache_bytes);
  return recovery;
}

}  // namespace drover::raft
