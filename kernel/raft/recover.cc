#include "kernel/raft/recover.h"

#include <algorithm>
#include <memory>
#include <string>
#include <utility>

#include "drover/crc32c.h"
#include "drover/log.h"
#include "drover/raft/segment_format.h"

namespace drover::raft {
namespace {

constexpr uint64_t kReadBytes = 4 << 20;

// The newest whole snapshot that the log connects to, put into the state machine; index 0 when there is none. One of a
// leader may be ahead of the log: then its install was interrupted.
Result<SnapshotInfo> restore(const SegmentLog& log, const SnapshotStore& snapshots, StateMachine& machine) {
  const Index first = log.first_index();
  Status damage;
  for (const SnapshotInfo& kept : snapshots.list()) {
    if (kept.index + 1 < first) break;
    Result<SnapshotInfo> snapshot = snapshots.verify(kept);
    if (snapshot.status().code() == Code::failed_precondition) return snapshot.status();
    if (!snapshot.ok()) {
      if (damage.ok()) damage = snapshot.status();
      log::error("raft", "a snapshot is damaged, looking for an older one", {{"error", snapshot.status().message()}});
      continue;
    }
    if (snapshot->index > log.last_index() && !snapshots.was_received(kept)) {
      return data_loss("snapshot " + std::to_string(snapshot->index) + " is ahead of the log, which ends at " +
                       std::to_string(log.last_index()));
    }
    DROVER_TRY(const std::unique_ptr<ByteSource> source, snapshots.read(*snapshot));
    DROVER_RETURN_IF_ERROR(machine.restore(*source).with_context("restore snapshot " + std::to_string(kept.index)));
    return snapshot;
  }
  if (first > 1) {
    const std::string gap = "the log begins at entry " + std::to_string(first) + " and no whole snapshot reaches it";
    return damage.ok() ? data_loss(gap) : data_loss(gap + " (" + damage.message() + ")");
  }
  return SnapshotInfo();
}

// The memberships that the entries behind `index` set.
Status read_memberships(const SegmentLog& log, Index index, std::vector<Membership>& out) {
  for (Index next = std::max(index + 1, log.first_index()); next <= log.last_index();) {
    DROVER_TRY(const std::vector<Entry> entries, log.read(next, log.last_index(), kReadBytes));
    for (const Entry& entry : entries) {
      if (entry.type != EntryType::membership) continue;
      DROVER_TRY(Membership membership, decode_membership(entry.bytes()));
      membership.index = entry.index;
      out.push_back(std::move(membership));
    }
    next = entries.back().index + 1;
  }
  return ok_status();
}

// All voters draw the same one from who they are.
ClusterId cluster_of(const std::vector<Member>& voters) {
  std::string bytes;
  for (const Member& voter : voters) bytes += voter.id.bytes();
  std::string id;
  for (uint32_t seed = 1; id.size() < 16; ++seed) {
    char part[4];
    put<uint32_t>(part, crc32c(bytes, seed));
    id.append(part, sizeof part);
  }
  return ClusterId::from_bytes(id);
}

}  // namespace

Status Recovered::begin_cluster(std::vector<Member> voters, Log& log) {
  std::ranges::sort(voters, {}, &Member::id);
  if (log.cluster_id().is_zero()) DROVER_RETURN_IF_ERROR(log.join_cluster(cluster_of(voters)));
  const Membership membership{.index = 1, .members = std::move(voters)};
  if (state.hard_state.term == 0) state.hard_state = {.term = 1, .vote = {}};
  state.terms.append(1, 1);
  state.memberships = {membership};
  auto payload = std::make_shared<const std::string>(encode_membership(membership));
  first_write =
      LogWrite{.write_seq = ++state.write_seq,
               .entries = {{.index = 1, .term = 1, .type = EntryType::membership, .payload = std::move(payload)}},
               .hard_state = state.hard_state,
               .membership = membership};
  return ok_status();
}

Result<Recovered> recover(const SegmentLog& log, const SnapshotStore& snapshots, StateMachine& machine) {
  Recovered out;
  DROVER_TRY(out.snapshot, restore(log, snapshots, machine));
  if (machine.applied_index() != out.snapshot.index) {
    return internal_error("the state machine is at entry " + std::to_string(machine.applied_index()) +
                          " after a restore of snapshot " + std::to_string(out.snapshot.index));
  }
  CoreState& state = out.state;
  const LogState recovered = log.recovered();
  state.hard_state = recovered.hard_state;
  state.hard_state.term = std::max(state.hard_state.term, recovered.last_term);
  state.write_seq = recovered.write_seq;
  state.snapshot_index = out.snapshot.index;
  state.snapshot_term = out.snapshot.term;
  state.terms = log.terms();
  if (out.snapshot.membership.index != 0) state.memberships.push_back(out.snapshot.membership);
  const bool is_connected = out.snapshot.index <= log.last_index() &&
                            (out.snapshot.index == 0 || state.terms.term_at(out.snapshot.index) == out.snapshot.term);
  if (is_connected) {
    DROVER_RETURN_IF_ERROR(read_memberships(log, out.snapshot.index, state.memberships));
    return out;
  }
  // The install of a leader's snapshot was interrupted before the log had been cut for it: done now.
  log::warn("raft", "the log ends before a snapshot that the leader sent, it continues behind that",
            {{"snapshot_index", out.snapshot.index}, {"last_index", log.last_index()}});
  state.hard_state.term = std::max(state.hard_state.term, out.snapshot.term);
  state.terms.start_over(out.snapshot.index + 1, out.snapshot.term);
  out.first_write = LogWrite{.write_seq = ++state.write_seq,
                             .hard_state = state.hard_state,
                             .membership = out.snapshot.membership,
                             .first_index = out.snapshot.index + 1,
                             .start_over = true,
                             .prev_term = out.snapshot.term};
  return out;
}

}  // namespace drover::raft
