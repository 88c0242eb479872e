#include "kernel/raft/recover.h"

#include <algorithm>
#include <memory>
#include <string>
#include <utility>

#include "drover/log.h"
#include "storage/peers_file.h"
#include "storage/segment_format.h"

namespace drover::raft {
namespace {

constexpr uint64_t kReadBytes = 4 << 20;

bool has_other_voters(const SegmentLog& log) {
  return std::ranges::any_of(log.recovered().membership.members, [&](const Member& member) {
    return member.id != log.node_id() && member.suffrage == Suffrage::voter;
  });
}

// The newest whole snapshot that the log connects to, put into the state machine; index 0 when there is none: then
// nothing is left of a log that does not begin at 1. One of a leader may be ahead of the log: its install was
// interrupted. Any may be ahead of a damaged log.
Result<SnapshotInfo> restore(SegmentLog& log, SnapshotStore& snapshots, StateMachine& machine) {
  const Index first = log.first_index();
  Status damage;
  const std::vector<SnapshotInfo> all = snapshots.list();
  const auto set_aside = [&](size_t count) -> Status {
    for (size_t i = 0; i < count; ++i) DROVER_RETURN_IF_ERROR(snapshots.set_aside(all[i]));
    return ok_status();
  };
  size_t bad = 0;
  for (; bad < all.size(); ++bad) {
    const SnapshotInfo& kept = all[bad];
    if (kept.index + 1 < first) break;
    Result<SnapshotInfo> snapshot = snapshots.verify(kept);
    if (!snapshot.ok()) {
      // A snapshot that cannot be read now may be readable another time, so nothing is given up for that.
      const Code code = snapshot.status().code();
      if (code != Code::data_loss && code != Code::not_found) return snapshot.status();
      if (damage.ok()) damage = snapshot.status();
      log::error("raft", "a snapshot is damaged, looking for an older one", {{"error", snapshot.status().message()}});
      continue;
    }
    if (snapshot->index > log.last_index() && !snapshots.was_received(kept) && !log.recovered().is_damaged) {
      return data_loss("snapshot " + std::to_string(snapshot->index) + " is ahead of the log, which ends at " +
                       std::to_string(log.last_index()));
    }
    DROVER_TRY(const std::unique_ptr<ByteSource> source, snapshots.read(*snapshot));
    DROVER_RETURN_IF_ERROR(machine.restore(*source).with_context("restore snapshot " + std::to_string(kept.index)));
    DROVER_RETURN_IF_ERROR(set_aside(bad));
    return snapshot;
  }
  if (first > 1) {
    std::string gap = "the log begins at entry " + std::to_string(first) + " and no whole snapshot reaches it";
    if (!damage.ok()) gap += " (" + damage.message() + ")";
    if (!has_other_voters(log)) return data_loss(gap + "; the log knows no other voter that could send one");
    log::error("raft", "no snapshot is left for the log: the leader is asked for everything", {{"error", gap}});
    if (!log.recovered().is_damaged) DROVER_RETURN_IF_ERROR(log.mark_damaged());
  }
  DROVER_RETURN_IF_ERROR(set_aside(bad));
  return SnapshotInfo();
}

// The memberships that the entries behind `index` set, in this epoch.
Status read_memberships(const SegmentLog& log, Index index, uint64_t epoch, std::vector<Membership>& out) {
  for (Index next = std::max(index + 1, log.first_index()); next <= log.last_index();) {
    DROVER_TRY(const std::vector<Entry> entries, log.read(next, log.last_index(), kReadBytes));
    for (const Entry& entry : entries) {
      if (entry.type != EntryType::membership || epoch_of(entry.term) != epoch) continue;
      DROVER_TRY(Membership membership, decode_membership(entry.bytes()));
      membership.index = entry.index;
      out.push_back(std::move(membership));
    }
    next = entries.back().index + 1;
  }
  return ok_status();
}

// All voters draw the same one from their identities.
ClusterId cluster_of(const std::vector<Member>& voters) {
  std::string bytes;
  for (const Member& voter : voters) bytes += voter.id.bytes();
  return draw_cluster(bytes);
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

Result<Recovered> recover(SegmentLog& log, SnapshotStore& snapshots, StateMachine& machine) {
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
  state.is_damaged = recovered.is_damaged;
  const uint64_t epoch = epoch_of(state.hard_state.term);
  if (epoch_of(out.snapshot.term) != epoch) {
    out.snapshot.membership = recovered.base_membership;
    // The first leader sees that its address is missing here and writes the membership into the log.
    for (Member& member : out.snapshot.membership.members) {
      if (member.id == log.node_id()) member.address.clear();
    }
  }
  if (out.snapshot.membership.index != 0) state.memberships.push_back(out.snapshot.membership);
  const bool is_connected = out.snapshot.index + 1 >= log.first_index() && out.snapshot.index <= log.last_index() &&
                            (out.snapshot.index == 0 || state.terms.term_at(out.snapshot.index) == out.snapshot.term);
  if (is_connected) {
    DROVER_RETURN_IF_ERROR(read_memberships(log, out.snapshot.index, epoch, state.memberships));
    // The log itself says again what this server has promised, before anything else is said.
    if (state.is_damaged) out.first_write = LogWrite{.write_seq = ++state.write_seq, .hard_state = state.hard_state};
    return out;
  }
  // The install of a leader's snapshot was interrupted before the log had been cut for it, or the log is damaged.
  log::warn("raft", "the log does not connect to the snapshot, it begins anew behind that",
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
