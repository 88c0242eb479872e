// Bugs on request: the core with one rule broken at a time, to test the tests. A test run that finds no bug has a hole.
// The product knows nothing of them: patches beside this file write them into a copy of the core's sources (README.md).
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace drover::raft {

// One rule each; the name says what goes wrong.
// clang-format off
#define DROVER_BUGS(X) \
  /* elections */ \
  X(vote_before_durable) X(vote_not_written) X(two_votes_a_term) X(vote_despite_leader) \
  X(pre_vote_despite_leader) X(pre_vote_skipped) X(transferee_gets_any_vote) X(log_compared_by_index) \
  X(late_pre_vote_counts) X(grant_of_any_term_counts) X(own_vote_counts_at_once) \
  X(campaign_with_undurable_tail) X(no_check_quorum) X(slow_disk_campaigns) X(damaged_votes) \
  /* replication and commitment */ \
  X(commit_earlier_term) X(commit_to_last_index) X(heartbeat_commit_unbounded) \
  X(leader_counts_itself_at_once) X(ack_before_durable) X(skip_prev_check) X(truncate_on_duplicate) \
  X(keep_conflicting_tail) X(match_survives_leadership) X(stale_refusal_counts) X(window_leak) \
  X(uncommitted_bytes_leak) X(aba_durable) X(apply_before_durable) X(token_resolved_twice) \
  X(uncertain_as_refused) X(propose_during_transfer) X(transfer_before_match) \
  /* snapshots */ \
  X(suffix_kept_on_conflict) X(old_snapshot_installed) X(snapshot_acked_before_durable) \
  X(apply_during_install) \
  /* membership */ \
  X(learner_counts) X(joint_counted_as_one_half) X(change_before_own_commit) X(two_changes_at_once) \
  X(membership_not_rolled_back) X(membership_forgotten_at_start) X(leave_joint_never) \
  X(removed_leader_stays) X(last_voter_removed) \
  /* reads */ \
  X(read_without_round) X(read_before_own_term) X(stale_round_confirms) X(lease_across_transfer) \
  X(lease_without_followers_promise)
// clang-format on

enum class Bug : uint8_t {
  none,
#define DROVER_BUG(name) name,
  DROVER_BUGS(DROVER_BUG)
#undef DROVER_BUG
};

void plant(Bug bug);  // for the whole process; Bug::none heals
bool planted(Bug bug);
std::string_view to_string(Bug bug);
std::vector<Bug> all_bugs();

// How often each mark of kernel/raft/core/reach.h was passed, since start. Single-threaded.
const std::map<std::string, uint64_t>& reached();

}  // namespace drover::raft
